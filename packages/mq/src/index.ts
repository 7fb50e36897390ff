export { type BrokerOptions, connectBroker } from './broker.ts';
export { MAX_BODY_BYTES, TICK } from './codec.ts';
export { type DeclareOptions, declareTopology } from './declare.ts';
export {
  type BrokerPermissions,
  type BrokerUser,
  grantBrokerUsers,
  type PermissionDefinitions,
  permissionsAsDefinitions,
  permissionsOf,
  ROUTED_APPS,
  removeBrokerUsers,
} from './permissions.ts';
export {
  type BindingSpec,
  deadLetterQueue,
  describeTopology,
  type ExchangeSpec,
  type PolicySpec,
  RETRY_TIER_MS,
  type Topology,
} from './topology.ts';
export {
  type Broker,
  type BrokerEvent,
  type BrokerState,
  type ConsumeOptions,
  type ConsumeResult,
  type Consumer,
  DONE,
  discarded,
  type Handler,
  type IncomingMessage,
  type Log,
  type Outcome,
  type OutgoingMessage,
  type PublishFailure,
  type PublishResult,
} from './types.ts';
export { type VerifyOptions, verifyTopology } from './verify.ts';
