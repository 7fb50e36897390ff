import type { Log } from '@dueline/mq';

const ignore = () => undefined;
/** What goes wrong with a broker shows in what is counted. */
export const SILENT: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
