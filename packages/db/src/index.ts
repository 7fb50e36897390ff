export { and, eq, inArray, is, isNull, SQL, sql } from 'drizzle-orm';
export { getTableConfig, IndexedColumn, PgDialect, PgTable } from 'drizzle-orm/pg-core';
export { arrayLiteral, column, tenantTicketRows, ticketRows } from './batch.ts';
export { cycleIdOfAction } from './cycle-key.ts';
export { endedWorkIsKeptFrom, type Removal, type RemovedWork, removeEndedWork } from './ended-work.ts';
export { errorCode, tookTooLong, translateError } from './errors.ts';
export {
  type DeadHands,
  dropLeftInHand,
  type InHandKind,
  type LeftInHand,
  leftInHand,
  letGoOfHand,
  takeInHand,
} from './in-hand.ts';
export {
  type AuditLimits,
  checkInvariants,
  DB_INVARIANTS,
  type Invariant,
  type InvariantResult,
} from './invariants.ts';
export { type Listener, type ListenOptions, listen } from './listen.ts';
export { lockUsers } from './lock-users.ts';
export { migrate, missingMigrations } from './migrate.ts';
export { type Database, type Db, inTransaction, openDatabase, STATEMENT_TIMEOUT_MS, type Tx } from './open.ts';
export { makePartitions, type PartitionedTable, type PartitionState, partitionStates } from './partitions.ts';
export { checkPrivileges, grantPrivileges, makeRoles } from './privileges/apply.ts';
export { type DatabaseLogin, makeLogins } from './privileges/logins.ts';
export { roleOf, rolesAsSql } from './privileges/roles.ts';
export { APPS_WITH_ROLES, type AppWithRole } from './privileges/table.ts';
export { type Pruned, prunePartitions, type Retention } from './prune.ts';
export { refuseIf } from './refusal.ts';
export { type Kinds, kindsOf, rowsGiven, rowsOf, sharedGiven } from './rows.ts';
export { type Alongside, given, type Rows, type Statement, statement } from './statement.ts';
export { countTableRows, type TableRows } from './table-rows.ts';
export { inTenant, readTenant } from './tenant.ts';
export {
  hasTimeMachine,
  installTimeMachine,
  jumpAhead,
  openRequests,
  type ProductTime,
  readProductTime,
  type TimeJump,
} from './time-machine.ts';
