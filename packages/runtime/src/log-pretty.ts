const COLOURS: Readonly<Record<string, number>> = { fatal: 35, error: 31, warn: 33, info: 32, debug: 36, trace: 90 };
const HIDDEN = new Set(['level', 'time', 'msg', 'service', 'instance']);

/** A JSON log line as one line for a terminal: local time, level, service, sentence, then the facts as key=value. */
export function prettyLine(line: string): string {
  const { level, time, msg, service, ...facts } = JSON.parse(line) as Record<string, unknown>;
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const tag = String(level).toUpperCase().padEnd(5);
  const rest = Object.entries(facts)
    .filter(([key]) => !HIDDEN.has(key))
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const text = `${clock} \u001B[${COLOURS[String(level)] ?? 0}m${tag}\u001B[0m ${service}: ${msg ?? ''}${rest.join('')}`;
  return `${text.replaceAll('\n', ' ')}\n`;
}
