import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVICE_CHARTS, UMBRELLA_CHART } from '../src/charts.ts';
import { CHARTS } from '../src/package.ts';
import { findTools } from '../src/tools.ts';
import { testCluster } from './cluster.ts';
import { testEnvironment } from './environment.ts';
import { containersOf, type Manifest, ofKind, podsOf, readManifests, selects } from './manifest.ts';
import { openWorkbench, type Rendered, ROOT, SETS, type Workbench } from './rendered.ts';

const TOOLS = await findTools(ROOT);
const NEEDS = 'missing' in TOOLS ? ` (skipped: ${TOOLS.missing})` : '';
const SERVICES = SERVICE_CHARTS.map(({ name }) => name);

describe.skipIf(NEEDS !== '')(`the charts${NEEDS}`, { timeout: 120_000 }, () => {
  let bench: Workbench;
  beforeAll(async () => {
    if ('helm' in TOOLS) bench = await openWorkbench(TOOLS);
  }, 600_000);
  afterAll(() => bench?.[Symbol.dispose]());

  const of = (chart: string): readonly Rendered[] => bench.rendered.filter((one) => one.chart === chart);
  const render = async (chart: string, values: string): Promise<string> => {
    const { ok, stdout, stderr } = await bench.template(chart, values);
    return ok ? stdout : stderr;
  };

  it.each(CHARTS)('%s is without a fault to helm, with every value set', (chart) => {
    const faults = of(chart).filter(({ lint }) => !lint.ok);
    expect(faults.map(({ set, lint }) => `${set}: ${lint.stdout}`)).toEqual([]);
    expect(of(chart)).toHaveLength(SETS.length);
  });

  it('every manifest of every chart and value set is one that Kubernetes takes', async () => {
    const { ok, stdout } = await bench.validate(bench.rendered.map(({ path }) => path));
    expect(stdout).toMatch(/^[1-9]\d\d+ manifests, 0 problems\n$/);
    expect(ok).toBe(true);
  });

  it.each<[fault: string, from: string, to: string, problem: RegExp]>([
    ['a misspelt field', 'replicas: 2', 'replicaz: 2', /unknown field "spec.replicaz"/],
    ['a text for a number', 'replicas: 2', 'replicas: two', /cannot unmarshal/],
    [
      'a selector that selects nothing',
      'app.kubernetes.io/instance: pg-listener\n  template:',
      'app.kubernetes.io/instance: other\n  template:',
      /does not select/,
    ],
    ['a probe of a port that is not there', '{path: /livez, port: http}', '{path: /livez, port: web}', /asks the port/],
    ['an alert that is no PromQL', 'absent(', 'absent((', /DuelineDown/],
    [
      'a label that is none',
      'app.kubernetes.io/part-of: dueline',
      'app.kubernetes.io/part-of: "du e"',
      /metadata.labels/,
    ],
  ])('the check of manifests notices %s', async (_fault, from, to, problem) => {
    const text = await render('pg-listener', 'alerts: {enabled: true}');
    expect(text).toContain(from);
    const { ok, stdout } = await bench.validate([bench.file('planted.yaml', text.replace(from, to))]);
    expect({ ok, stdout }).toEqual({ ok: false, stdout: expect.stringMatching(problem) });
  });

  it('what selects pods selects those of its own chart and no others', () => {
    const wrong = bench.rendered.flatMap(({ chart, set, manifests }) =>
      selectorsOf(manifests).flatMap(({ by, selector }) => {
        const found = podsOf(manifests).filter(({ labels }) => selects(selector, labels));
        const ofOwn = found.every(
          ({ labels }) => labels['app.kubernetes.io/name'] === by.metadata.labels['app.kubernetes.io/name'],
        );
        return found.length === 1 && ofOwn ? [] : [`${chart} ${set}: ${by.kind} ${by.metadata.name}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('each scrape goes by a service that its chart has', () => {
    for (const { manifests } of bench.rendered) {
      for (const monitor of ofKind(manifests, 'ServiceMonitor')) {
        const { matchLabels } = monitor.spec.selector as { matchLabels: Record<string, string> };
        const services = ofKind(manifests, 'Service').filter(({ metadata }) => selects(matchLabels, metadata.labels));
        expect(services.map(({ metadata }) => metadata.name)).toEqual([monitor.metadata.name]);
      }
    }
  });

  it('no image is without a tag or digest, and none is `latest`', () => {
    const images = bench.rendered.flatMap(({ manifests }) =>
      podsOf(manifests).flatMap(({ spec }) => containersOf(spec).map(({ image }) => image)),
    );
    expect(images.filter((image) => !/^[\w./-]+(:\d[\w.-]*|@sha256:[0-9a-f]{64})$/.test(image))).toEqual([]);
  });

  it('every pod runs as an ordinary user on a file system it cannot write, without rights and without a token', () => {
    for (const { spec } of bench.rendered.flatMap(({ manifests }) => podsOf(manifests))) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of containersOf(spec)) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.volumeMounts).toEqual([{ name: 'tmp', mountPath: '/tmp' }]);
        expect(container.resources).toMatchObject({
          requests: { cpu: expect.anything() },
          limits: { memory: expect.anything() },
        });
      }
    }
  });

  it.each(SERVICES)('%s is probed where it answers, and its pod waits for its stop', (chart) => {
    for (const { manifests } of of(chart)) {
      const [pod] = podsOf(manifests);
      const [container] = pod?.spec.containers ?? [];
      expect(container?.startupProbe?.httpGet.path).toBe('/livez');
      expect(container?.livenessProbe?.httpGet.path).toBe('/livez');
      expect(container?.readinessProbe?.httpGet.path).toBe('/readyz');
      const stop = Number(container?.env.find(({ name }) => name === 'SHUTDOWN_TIMEOUT_SECONDS')?.value);
      expect(pod?.spec.terminationGracePeriodSeconds).toBe(stop + 10);
    }
  });

  it('no Secret and no password is in a manifest', () => {
    for (const { manifests } of bench.rendered) {
      expect(ofKind(manifests, 'Secret')).toEqual([]);
      expect(JSON.stringify(manifests)).not.toMatch(/:\/\/[^/\s"]*:[^/\s"]*@/);
    }
  });

  it('with everything off there are only Deployments, their services and a Job', () => {
    const [off] = of(UMBRELLA_CHART).filter(({ set }) => set === 'off');
    expect(new Set(off?.manifests.map(({ kind }) => kind))).toEqual(new Set(['Deployment', 'Service', 'Job']));
  });

  it.each<[what: string, chart: string, values: string, refusal: RegExp]>([
    ...CHARTS.map((chart): [string, string, string, RegExp] => [
      'a value that there is not',
      chart,
      'replicaz: 2',
      /replicaz/,
    ]),
    ['a misspelt setting', 'pg-listener', 'config: {OUTBOX_BATHC: 5}', /OUTBOX_BATHC/],
    ['a setting that the app would refuse', 'pg-listener', 'config: {OUTBOX_BATCH: 6000}', /OUTBOX_BATCH|5,?000/],
    [
      'a lease that production refuses',
      'cron-scheduler',
      'config: {CLAIM_LEASE_SECONDS: 5}',
      /CLAIM_LEASE_SECONDS|300/,
    ],
    ['a seam of tests', 'trigger-worker', 'config: {CRASH_AT: hand_over.written}', /CRASH_AT/],
    ['a password among the settings', 'pg-listener', 'config: {DATABASE_URL: "postgresql://u:p@h/d"}', /DATABASE_URL/],
    ['a secret by value', 'line-delivery', 'secrets: {SECRETS_KEY: abc}', /SECRETS_KEY/],
    ['a missing secret', 'cron-scheduler', 'secrets: {REDIS_URL: null}', /REDIS_URL/],
    ['the tag `latest`', 'pg-listener', 'image: {tag: latest}', /tag/],
    ['an unknown way to scale', 'trigger-worker', 'autoscaling: {kind: both}', /kind/],
    ['scaling of a clock', 'cron-scheduler', 'autoscaling: {kind: hpa}', /autoscaling/],
    ['a misspelt value of a chart within the umbrella', UMBRELLA_CHART, 'trigger-worker: {replicaz: 2}', /replicaz/],
  ])('%s is refused by %s', async (_what, chart, values, refusal) => {
    const { ok, stderr } = await bench.template(chart, values);
    expect({ ok, stderr }).toEqual({ ok: false, stderr: expect.stringMatching(refusal) });
  });

  it('a chart of the umbrella can be left out', async () => {
    const text = await render(UMBRELLA_CHART, 'trigger-worker: {enabled: false}');
    expect(text).toContain('name: dueline-pg-listener');
    expect(text).not.toContain('dueline-trigger-worker');
  });

  it('a release has one version, of all charts and images', async () => {
    const { stdout, stderr } = await bench.released('1.2.3-rc.1');
    expect(stderr).not.toContain('Error');
    const images = readManifests(stdout).flatMap((manifest) =>
      podsOf([manifest]).flatMap(({ spec }) => containersOf(spec).map(({ image }) => image.split(':')[1])),
    );
    expect(new Set(images)).toEqual(new Set(['1.2.3-rc.1']));
    expect(
      new Set(stdout.match(/helm\.sh\/chart: .*-(\d.*)$/gm)?.map((line) => line.replace(/^.*?-(?=\d)/, ''))),
    ).toEqual(new Set(['1.2.3-rc.1']));
  });

  it('a large number stays the number it is', async () => {
    const text = await render('pg-listener', 'config: {OUTBOX_MAX_PUBLISHED: 12000000}');
    expect(text).toMatch(/name: OUTBOX_MAX_PUBLISHED\n\s+value: "12000000"/);
  });

  testEnvironment(() => bench.rendered);
  testCluster(() => bench.rendered);
});

/** Whatever names pods by their labels. */
function selectorsOf(manifests: readonly Manifest[]): { by: Manifest; selector: Record<string, string> }[] {
  return manifests.flatMap((by) => {
    const { selector, podSelector, template } = by.spec ?? {};
    const spread = template?.spec.topologySpreadConstraints ?? [];
    const named =
      by.kind === 'Service' ? { matchLabels: selector } : by.kind === 'ServiceMonitor' ? undefined : selector;
    return [named, podSelector, ...spread.map(({ labelSelector }) => labelSelector)].flatMap((one) =>
      one === undefined ? [] : [{ by, selector: (one as { matchLabels: Record<string, string> }).matchLabels }],
    );
  });
}
