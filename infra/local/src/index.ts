export {
  type AppLogins,
  addDatabaseLogins,
  asLogin,
  newAppLogins,
  removeDatabaseLogins,
} from './app-logins.ts';
export { type Check, type DiagnoseOptions, type Diagnosis, diagnose } from './doctor.ts';
export { LocalServicesError } from './errors.ts';
export { freePort } from './ports.ts';
export { missingServers, type PrivateServices, startDurable, startKillable } from './private.ts';
export { type ProvideOptions, provideServices, type Services } from './provide.ts';
export type { RedisServer } from './redis.ts';
export type { PrivateServer } from './server.ts';
export { sweepStale } from './sweep.ts';
export type { ServiceUrls } from './urls.ts';
