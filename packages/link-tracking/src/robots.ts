/**
 * Who fetches a link without a person: previews of messengers and search engines, by a part of the user agent they send.
 * LINE's in-app browser (`… Line/14.5.0`) is a person. LINE's preview says `facebookexternalhit/1.1;line-poker/1.0`.
 * Names in full, never just "bot": phones are called Cubot.
 */
const ROBOTS = [
  ...['line-poker', 'linespider'],
  ...[
    'facebookexternalhit',
    'facebot',
    'meta-externalagent',
    'twitterbot',
    'whatsapp/',
    'telegrambot',
    'kakaotalk-scrap',
  ],
  ...['slackbot', 'slack-imgproxy', 'discordbot', 'skypeuripreview', 'linkedinbot'],
  ...[
    'googlebot',
    'google-inspectiontool',
    'bingbot',
    'bingpreview',
    'applebot',
    'yandexbot',
    'baiduspider',
    'bytespider',
  ],
  ...['gptbot', 'claudebot', 'headlesschrome', 'curl/', 'wget/', 'python-requests/', 'go-http-client/'],
] as const;

/** Whether a user agent is known not to be a person. An unknown or absent one counts as a person: a lost click is worse. */
export function isRobot(userAgent: string | undefined): boolean {
  if (userAgent === undefined) return false;
  const text = userAgent.toLowerCase();
  return ROBOTS.some((name) => text.includes(name));
}
