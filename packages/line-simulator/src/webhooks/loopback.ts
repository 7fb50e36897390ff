/** Whether a URL stays on this machine: the simulator calls nothing else. */
export function isLoopback(url: string): boolean {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) return false;
  return parsed.hostname === 'localhost' || parsed.hostname === '[::1]' || /^127(\.\d+){3}$/.test(parsed.hostname);
}
