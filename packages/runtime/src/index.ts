export { baseConfig, ConfigError, configOrExit, parseConfig } from './config.ts';
export { type ConfigRow, describeConfig } from './config-describe.ts';
export { seconds, testOnly, type VariableMeta, variable } from './config-fields.ts';
export {
  CRASH_AT_PATTERN,
  CRASH_POINTS,
  type CrashPoint,
  createCrashPoints,
  createPoison,
  type Reach,
} from './crash-points.ts';
export { type DescribedError, describeError, safeErrorText } from './describe-error.ts';
export { createDueAlarm, type DueAlarm, type DueAlarmOptions } from './due-alarm.ts';
export { type EveryOptions, every, type Repeating } from './every.ts';
export { type Gathering, gather } from './gather.ts';
export { type HealthCheck, type HealthServer, type HealthServerOptions, startHealthServer } from './health.ts';
export { createLog, type Log, type LogOptions } from './log.ts';
export { createLookAgain, type LookAgain } from './look-again.ts';
export { createMetrics, type Metrics } from './metrics.ts';
export { redactText } from './redact.ts';
export { redisOptions } from './redis-options.ts';
export { runService, type ServiceOptions } from './service.ts';
export { shared } from './shared.ts';
export { currentTraceparent, type SpanOptions, withSpan } from './spans.ts';
export type { OnStop } from './stop-steps.ts';
export { startTracing, type TracingOptions } from './tracing.ts';
