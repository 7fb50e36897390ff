import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { releaseNotes } from '../ship/changelog.ts';
import { failuresOf } from '../ship/ratios.ts';
import { select } from '../ship/select.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const apps = globSync('apps/*/package.json', { cwd: ROOT }).map((path) => path.split('/')[1] ?? '');

describe('docker-compose.yml', () => {
  const service = z.looseObject({
    image: z.string(),
    profiles: z.array(z.string()).default([]),
    ports: z.array(z.string()).default([]),
    volumes: z.array(z.string()).default([]),
    healthcheck: z.looseObject({}).optional(),
    depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
    read_only: z.boolean().default(false),
    cap_drop: z.array(z.string()).default([]),
    security_opt: z.array(z.string()).default([]),
    build: z.object({ dockerfile: z.string(), args: z.object({ APP: z.string() }) }).optional(),
    environment: z.record(z.string(), z.string()).default({}),
  });
  const { services } = z
    .object({ services: z.record(z.string(), service) })
    .parse(parse(read('docker-compose.yml'), { merge: true }));
  const all = Object.entries(services);
  const ours = all.filter(([, { image }]) => image.startsWith('dueline/'));

  test('it has every app, the simulator, Prometheus and Grafana, in the profiles core, demo, observability and chaos', () => {
    expect(Object.keys(services)).toEqual(expect.arrayContaining([...apps, 'line-simulator', 'prometheus', 'grafana']));
    const profiles = new Set(all.flatMap((entry) => entry[1].profiles));
    expect(profiles).toEqual(new Set(['core', 'demo', 'observability', 'chaos', 'ops']));
  });

  test('without a profile it starts the servers alone, which is what ./dueline asks for', () => {
    const bare = all.filter(([, { profiles }]) => profiles.length === 0).map(([name]) => name);
    expect(bare.toSorted()).toEqual(['postgres', 'rabbitmq', 'redis']);
  });

  test.each(all)('%s is declared by version and open to this machine only', (_, { image, ports }) => {
    expect(image).toMatch(/:(?:v?\d[\w.-]*|\$\{DUELINE_VERSION:-dev\})$/);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test.each(ours)('%s may write nothing, become nobody else, and keeps no capability', (_, one) => {
    expect(one).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
  });

  test('who waits for another waits for its health, or for its end', () => {
    for (const [name, { depends_on }] of all)
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const needed = services[other];
        expect(needed, `${name} needs ${other}`).toBeDefined();
        expect(['service_healthy', 'service_completed_successfully'], name).toContain(condition);
        if (condition === 'service_healthy' && !needed?.image.startsWith('dueline/'))
          expect(needed?.healthcheck, `${other} has a health check`).toBeDefined();
      }
  });

  test('it holds no secret: every password and key is a reference that has no default', () => {
    const text = read('docker-compose.yml');
    const values = [
      ...text.matchAll(/^ +\w*(?:PASSWORD|PASS|SECRETS_KEY): (.+)$/gm),
      ...text.matchAll(/--requirepass, "(.+?)"/g),
      ...text.matchAll(/:\/\/[\w-]*:([^@\n]+)@/g),
    ].map(([, value]) => value);
    expect(values.length).toBeGreaterThan(8);
    for (const value of values) expect(value).toMatch(/^\$\{[A-Z_]+(?::-|:\?[^}]+)?\}(?: #.*)?$/);
  });

  test('every app logs in by a login of its own, which is made before; only who prepares the servers and the story are the owner', () => {
    const environmentOf = (name: string) => services[name]?.environment ?? {};
    const owner = environmentOf('migrate').DATABASE_URL;
    const owners = ours.filter(([, { environment }]) => environment.DATABASE_URL === owner).map(([name]) => name);
    expect(owners.toSorted()).toEqual(['logins', 'migrate', 'story', 'topology']);

    const made = environmentOf('logins');
    for (const app of apps) {
      const name = app.toUpperCase().replaceAll('-', '_');
      const { DATABASE_URL, AMQP_URL } = environmentOf(app);
      expect([DATABASE_URL, AMQP_URL], app).toEqual([made[`${name}_DATABASE_URL`], made[`${name}_AMQP_URL`]]);
      expect(DATABASE_URL).toContain(`\${DUELINE_${name}_PASSWORD:-}`);
      if (app !== 'ops') expect(services[app]?.depends_on).toHaveProperty('logins');
    }
    expect(new Set(Object.values(made)).size).toBe(Object.keys(made).length);
  });

  test('make-env.sh writes every password and key that it refers to; into a file that is there, what it lacks', () => {
    const root = mkdtempSync(join(tmpdir(), 'dueline-env-'));
    try {
      mkdirSync(join(root, 'infra/docker'), { recursive: true });
      cpSync(join(ROOT, 'infra/docker/make-env.sh'), join(root, 'infra/docker/make-env.sh'));
      const file = join(root, '.env');
      const write = () => {
        execFileSync(join(root, 'infra/docker/make-env.sh'), { stdio: 'ignore' });
        return readFileSync(file, 'utf8');
      };
      const whole = write();
      const referred = read('docker-compose.yml').matchAll(/\$\{(\w+(?:PASSWORD|KEY))\b/g);
      const names = [...new Set([...referred].map(([, name]) => name))];
      expect(names).toHaveLength(8);
      expect([...whole.matchAll(/^(\w+)=.{32,}$/gm)].map(([, name]) => name).toSorted()).toEqual(names.toSorted());
      expect(statSync(file).mode & 0o077).toBe(0);

      const older = 'DUELINE_DEVELOPMENT_PASSWORD=mine\nLINE_API_URL=https://api.line.me\n';
      writeFileSync(file, older);
      const completed = write();
      expect(completed.slice(0, older.length)).toBe(older);
      expect(completed.match(/^\w+(?==)/gm)?.toSorted()).toEqual([...names, 'LINE_API_URL'].toSorted());
      expect(write()).toBe(completed);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  test('every path that it mounts or builds from exists', () => {
    const paths = all.flatMap(([, { volumes, build }]) => [
      ...volumes.map((volume) => volume.split(':')[0] ?? ''),
      ...(build === undefined ? [] : [build.dockerfile]),
    ]);
    for (const path of paths) expect(existsSync(join(ROOT, path)), path).toBe(true);
  });
});

describe('workflows', () => {
  const step = z.looseObject({ uses: z.string().optional(), run: z.string().optional() });
  const job = z.looseObject({ 'timeout-minutes': z.number(), steps: z.array(step), needs: z.unknown().optional() });
  const workflow = z.looseObject({
    name: z.string(),
    permissions: z.record(z.string(), z.string()),
    jobs: z.record(z.string(), job),
  });
  const action = z.object({ runs: z.object({ steps: z.array(step) }) });
  const paths = globSync('.github/workflows/*.yml', { cwd: ROOT }).toSorted();
  const jobsOf = (path: string) => Object.entries(workflow.parse(parse(read(path))).jobs);
  const steps = [
    ...paths.flatMap(jobsOf).flatMap(([, { steps }]) => steps),
    ...globSync('.github/actions/*/action.yml', { cwd: ROOT }).flatMap(
      (path) => action.parse(parse(read(path))).runs.steps,
    ),
  ];

  test('there are those of a change, of the night and of a release', () => {
    expect(paths.map((path) => workflow.parse(parse(read(path))).name)).toEqual(['ci', 'nightly', 'release']);
  });

  test.each(paths)('%s may only read unless a job says more, and its jobs end and need jobs that exist', (path) => {
    const { permissions, jobs } = workflow.parse(parse(read(path)));
    expect(permissions).toEqual({ contents: 'read' });
    const names = Object.keys(jobs);
    for (const { needs } of Object.values(jobs)) for (const need of [needs ?? []].flat()) expect(names).toContain(need);
  });

  test('actions from outside are named by version, and those of ours exist', () => {
    for (const { uses } of steps) {
      if (uses?.startsWith('./')) expect(existsSync(join(ROOT, uses, 'action.yml')), uses).toBe(true);
      else if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+/);
    }
  });

  test('every script that a step runs exists', () => {
    const scripts = steps.flatMap(({ run = '' }) => run.match(/(?:tools|infra|\.ci)\/[\w./-]+/g) ?? []);
    expect(scripts.length).toBeGreaterThan(4);
    for (const script of scripts) expect(existsSync(join(ROOT, script)), script).toBe(true);
  });

  test('no expression stands in a shell line, where a name of a branch could become a command', () => {
    for (const { run = '' } of steps) expect(run).not.toContain('${{');
  });

  test('what CI takes from the selection is what the selection tells', () => {
    const fields = Object.keys(select(ROOT, [])).toSorted();
    const [ci] = paths;
    const taken = [...read(ci ?? '').matchAll(/steps\.affected\.outputs\.(\w+)/g)].map(([, field]) => field);
    expect(taken.toSorted()).toEqual(fields);
  });
});

describe('a release', () => {
  const notes = (section: string) =>
    releaseNotes(`# Changelog\n\n## 1.2.0\n\n${section}\n\n## 1.1.0\n\n- Old.\n`, '1.2.0');

  test('takes the sentences of its section', () => {
    const section = '- Campaigns can be paused\n  by anybody.\n- `ops audit` is faster.';
    expect(notes(section)).toEqual({ notes: section, problems: [] });
  });

  test.each([
    ['a commit', '- mq: reconnect inside', 'is a commit'],
    ['half a sentence', '- faster drains', 'is not a whole sentence'],
    ['a novel', `- ${'Very '.repeat(80)}long.`, 'is longer than 300'],
    ['nothing', '', 'says nothing'],
  ])('is refused when it says %s', (_, section, problem) => {
    expect(notes(section).problems).toEqual([expect.stringContaining(problem)]);
  });

  test('is refused when nothing was written about it', () => {
    expect(releaseNotes(read('CHANGELOG.md'), '9.9.9').problems).toHaveLength(1);
  });

  test('of the version in package.json could go out as it is', () => {
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(read('package.json')));
    expect(releaseNotes(read('CHANGELOG.md'), version).problems).toEqual([]);
  });
});

describe('the gate of the bench', () => {
  const finding = { what: 'jobs a second', of: 'dueline', figure: 'x', better: 'higher', floor: 1, value: 0.5 };
  const report = (more: object) => failuresOf({ scenario: 'drain', lost: 0, doubled: 0, findings: [], ...more });

  test('stops a proportion below its floor', () => {
    expect(report({ findings: [{ ...finding, to: 'raw-sql', verdict: 'missed' }] })).toHaveLength(1);
  });

  test.each([{ lost: 1 }, { doubled: 2 }])('stops %o', (more) => {
    expect(report(more)).toHaveLength(1);
  });

  test('lets a figure of one contestant pass, which tells of the machine', () => {
    expect(report({ findings: [{ ...finding, verdict: 'missed' }] })).toEqual([]);
  });
});
