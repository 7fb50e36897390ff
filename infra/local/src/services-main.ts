import { environment, stateFolder } from './config.ts';
import { messageOf } from './errors.ts';
import { provideServices } from './provide.ts';

if (process.argv.length > 2) {
  console.error('usage: ./dueline services\nStarts PostgreSQL, RabbitMQ and Redis and prints their URLs until Ctrl-C.');
  process.exit(2);
}

// Before anything starts: a signal while the servers are starting ends them through the exit hook of the run.
let stop = async (): Promise<void> => undefined;
let stopping = false;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    if (stopping) return;
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(messageOf(error));
        process.exit(1);
      },
    );
  });
}

try {
  const services = await provideServices({ stateFolder, env: environment(), log: (line) => console.error(line) });
  stop = services.stop;
  const { databaseUrl, amqpUrl, amqpManagementUrl, redisUrl } = services.urls;
  console.log(`DATABASE_URL=${databaseUrl}`);
  console.log(`AMQP_URL=${amqpUrl}`);
  console.log(`AMQP_MANAGEMENT_URL=${amqpManagementUrl}`);
  console.log(`REDIS_URL=${redisUrl}`);
  console.error(`services from: ${services.source}. Ctrl-C ends what was started.`);
  setInterval(() => undefined, 60_000); // services of others hold no handle that would keep us here
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
