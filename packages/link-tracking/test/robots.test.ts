import { expect, test } from 'vitest';
import { isRobot } from '../src/robots.ts';

test.for([
  ["LINE's preview", 'facebookexternalhit/1.1;line-poker/1.0', true],
  ["LINE's search engine", 'Mozilla/5.0 (compatible; LineSpider/1.0)', true],
  ['a preview of another messenger', 'TelegramBot (like TwitterBot)', true],
  ['a preview that looks like a browser', 'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5', true],
  ['a search engine', 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', true],
  [
    "LINE's in-app browser on an iPhone",
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Safari Line/14.10.0',
    false,
  ],
  [
    "LINE's in-app browser on Android",
    'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UD1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.0.0 Mobile Safari/537.36 Line/14.9.0/IAB',
    false,
  ],
  [
    'a phone named Cubot',
    'Mozilla/5.0 (Linux; Android 12; CUBOT X50) AppleWebKit/537.36 Chrome/120.0 Mobile Safari/537.36',
    false,
  ],
  ['something nobody knows', '🤷', false],
  ['an empty user agent', '', false],
  ['no user agent', undefined, false],
] as const)('%s: %s is a robot: %s', ([, userAgent, robot]) => {
  expect(isRobot(userAgent)).toBe(robot);
});
