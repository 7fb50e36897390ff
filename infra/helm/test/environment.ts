import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseConfig } from '@dueline/runtime';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { MIGRATE_CHART, SERVICE_CHARTS, UMBRELLA_CHART } from '../src/charts.ts';
import { containersOf, type EnvVar, ofKind, podsOf } from './manifest.ts';
import { type Rendered, ROOT } from './rendered.ts';

/** What the Secrets hold in these tests. */
const HELD: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgresql://app@postgres/dueline',
  DATABASE_URL_DIRECT: 'postgresql://app@postgres/dueline',
  AMQP_URL: 'amqps://app@rabbitmq/dueline',
  AMQP_MANAGEMENT_URL: 'https://app@rabbitmq:15671/api',
  REDIS_URL: 'rediss://redis',
  SECRETS_KEY: Buffer.alloc(32).toString('base64'),
};

/** The same of another app, with its name before it. */
const heldIn = (name: string): string | undefined =>
  Object.entries(HELD).find(([variable]) => name === variable || name.endsWith(`_${variable}`))?.[1];
/** Apps whose login the Job makes have a password. */
const withPassword = (name: string, url: string): string => (name in HELD ? url : url.replace('app@', 'app:secret@'));

/** Tests of what the pods are told, by the configuration of the apps themselves. */
export function testEnvironment(rendered: () => readonly Rendered[]): void {
  const envsOf = (name: string): { set: string; env: readonly EnvVar[] }[] =>
    rendered()
      .filter(({ chart }) => chart === name)
      .flatMap(({ set, manifests }) =>
        podsOf(manifests).flatMap(({ spec }) => containersOf(spec).map(({ env }) => ({ set, env }))),
      );

  it.each(SERVICE_CHARTS)(
    '$name starts with what its chart tells it, and is told nothing it does not read',
    async ({ name }) => {
      const schema = await schemaOf(name, 'configSchema');
      const envs = envsOf(name);
      expect(envs.length).toBeGreaterThan(0);
      for (const { env } of envs) {
        expect(env.map((variable) => variable.name).filter((variable) => !(variable in schema.shape))).toEqual([]);
        expect(new Set(env.map((variable) => variable.name)).size).toBe(env.length);
        expect(() => parseConfig(schema, heldBy(env))).not.toThrow();
      }
    },
  );

  it.each<[command: string, schemas: readonly string[]]>([
    ['migrate', ['migrate']],
    ['topology', ['topology']],
    ['topology --permissions', ['topology']],
    ['logins', ['migrate', 'topology', 'logins']],
  ])('%s starts with what the Job tells it', async (command, names) => {
    const schemas = await Promise.all(names.map((name) => schemaOf('ops', `${name}Schema`)));
    const containers = rendered()
      .filter(({ chart }) => chart === MIGRATE_CHART)
      .flatMap(({ manifests }) => podsOf(manifests).flatMap(({ spec }) => containersOf(spec)))
      .filter(({ args }) => args?.join(' ') === command);
    expect(containers.length).toBeGreaterThan(0);
    for (const { env } of containers) {
      const isRead = (name: string) => schemas.some(({ shape }) => name in shape);
      expect(env.map(({ name }) => name).filter((name) => !isRead(name))).toEqual([]);
      for (const schema of schemas) expect(() => parseConfig(schema, heldBy(env))).not.toThrow();
    }
  });

  it('what holds a password or a key comes from a Secret, in every pod', () => {
    for (const { manifests } of rendered()) {
      for (const { spec } of podsOf(manifests)) {
        for (const { name, value, valueFrom } of containersOf(spec).flatMap(({ env }) => env)) {
          expect({ name, isSecret: valueFrom?.secretKeyRef !== undefined }).toEqual({
            name,
            isSecret: heldIn(name) !== undefined,
          });
          if (heldIn(name) !== undefined) expect(value).toBeUndefined();
        }
      }
    }
  });

  it('each replica is called as its pod is, and by no other name', () => {
    for (const { manifests } of rendered()) {
      for (const { metadata, spec } of ofKind(manifests, 'Deployment')) {
        const env = (spec.template?.spec.containers ?? []).flatMap((container) => container.env);
        const named = env.filter(({ name }) => name === 'INSTANCE_NAME');
        expect({ of: metadata.name, named }).toEqual({
          of: metadata.name,
          named: [{ name: 'INSTANCE_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        });
      }
    }
  });

  it('what more than four replicas are told makes none of them LISTEN', () => {
    const [keda] = rendered().filter(({ chart, set }) => chart === UMBRELLA_CHART && set === 'keda');
    const listening = ofKind(keda?.manifests ?? [], 'Deployment')
      .filter(({ spec }) => !JSON.stringify(spec).includes('{"name":"LISTEN_FOR_DUE","value":"false"}'))
      .map(({ metadata }) => metadata.name.replace(/^.*?-(?=[a-z]+-[a-z]+$)/, ''));
    expect(listening).not.toContain('trigger-worker');
    expect(listening).toContain('cron-scheduler');
  });

  it('line-delivery knows how many replicas there may be at once', () => {
    const told = envsOf('line-delivery').map(({ set, env }) => [
      set,
      env.find(({ name }) => name === 'LINE_DELIVERY_REPLICAS')?.value,
    ]);
    expect(Object.fromEntries(told)).toEqual({ minimal: '3', off: '2', production: '5', keda: '9', hpa: '4' });
  });
}

async function schemaOf(app: string, name: string): Promise<z.ZodObject> {
  const module: Record<string, unknown> = await import(pathToFileURL(join(ROOT, 'apps', app, 'src/config.ts')).href);
  return z.instanceof(z.ZodObject).parse(module[name]);
}

/** The environment of a container whose Secrets hold what they should. */
const heldBy = (env: readonly EnvVar[]): Record<string, string> =>
  Object.fromEntries(
    env.map(({ name, value, valueFrom }) => [
      name,
      value ?? (valueFrom?.secretKeyRef ? withPassword(name, heldIn(name) ?? '') : 'a-pod'),
    ]),
  );
