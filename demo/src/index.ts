export { type Command, runCommand, untilInterrupted } from './command.ts';
export { APP_NAMES, type App, type AppName, startApp, untilReady } from './stack/apps.ts';
export { createPlace, type Place } from './stack/place.ts';
export { ROOT } from './stack/process.ts';
export { countConnections, cutConnections, manageRabbit, purgeQueues, type Vhost } from './stack/rabbitmq.ts';
export { type LineSimulator, startSimulator } from './stack/simulator.ts';
export { type Stack, type StackOptions, startStack } from './stack/stack.ts';
export { travel } from './stack/travel.ts';
