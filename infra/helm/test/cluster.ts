import { expect, it } from 'vitest';
import { MIGRATE_CHART, SERVICE_CHARTS } from '../src/charts.ts';
import { type Manifest, ofKind } from './manifest.ts';
import type { Rendered } from './rendered.ts';

/** Ports that a chart's pods may reach, in every value set in which each peer is there. */
const REACHED: Readonly<Record<string, readonly number[]>> = {
  'campaign-dispatcher': [53, 53, 5432, 5671, 4318],
  'cron-scheduler': [53, 53, 5432, 5671, 6379, 4318],
  'line-delivery': [53, 53, 5432, 5671, 6379, 443, 4318],
  'pg-listener': [53, 53, 5432, 5671, 4318],
  'trigger-worker': [53, 53, 5432, 5671, 4318],
  [MIGRATE_CHART]: [53, 53, 5432, 5671, 5672, 15_671, 15_672],
};

/** Tests of what a cluster does with the pods: who may talk to whom, how many there are, how they are replaced. */
export function testCluster(rendered: () => readonly Rendered[]): void {
  const kindsOf = (chart: string, set: string, kind: string): Manifest[] =>
    ofKind(rendered().find((one) => one.chart === chart && one.set === set)?.manifests ?? [], kind);

  it.each(Object.entries(REACHED))('%s may talk to those whom it needs, and to nobody else', (chart, ports) => {
    const [policy] = kindsOf(chart, 'production', 'NetworkPolicy');
    expect(policy?.spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect((policy?.spec.egress ?? []).flatMap((rule) => rule.ports.map(({ port }) => port))).toEqual(ports);
  });

  it('only line-delivery may leave the cluster, and only for public addresses', () => {
    const open = SERVICE_CHARTS.flatMap(({ name }) =>
      kindsOf(name, 'production', 'NetworkPolicy').filter(({ spec }) => JSON.stringify(spec).includes('"0.0.0.0/0"')),
    );
    expect(open.map(({ metadata }) => metadata.labels['app.kubernetes.io/name'])).toEqual(['line-delivery']);
    expect(JSON.stringify(open)).toContain('"except":["10.0.0.0/8"');
  });

  it.each(SERVICE_CHARTS)('$name is replaced without a replica less, and drained one pod at a time', ({ name }) => {
    const [deployment] = kindsOf(name, 'production', 'Deployment');
    expect(deployment?.spec.strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
    expect(kindsOf(name, 'production', 'PodDisruptionBudget').map(({ spec }) => spec.maxUnavailable)).toEqual([1]);
    expect(deployment?.spec.template?.spec.topologySpreadConstraints).toHaveLength(2);
  });

  it('a single replica has no budget that would mean nothing', () => {
    expect(kindsOf('line-delivery', 'hpa', 'PodDisruptionBudget')).toEqual([]);
    expect(kindsOf('trigger-worker', 'hpa', 'PodDisruptionBudget')).toHaveLength(1);
  });

  it.each<[string, scaler: string, other: string]>([
    ['keda', 'ScaledObject', 'HorizontalPodAutoscaler'],
    ['hpa', 'HorizontalPodAutoscaler', 'ScaledObject'],
  ])('with %s one scaler counts the replicas, and the Deployment does not', (set, scaler, other) => {
    for (const { name, scales } of SERVICE_CHARTS) {
      const [deployment] = kindsOf(name, set, 'Deployment');
      expect({ name, scalers: kindsOf(name, set, scaler).length }).toEqual({ name, scalers: scales ? 1 : 0 });
      expect(kindsOf(name, set, other)).toEqual([]);
      expect({ name, replicas: deployment?.spec.replicas }).toEqual({ name, replicas: scales ? undefined : 2 });
    }
  });

  it('KEDA counts the messages of every queue, and the seconds that events and actions wait', () => {
    const [scaled] = kindsOf('trigger-worker', 'keda', 'ScaledObject');
    const triggers = scaled?.spec.triggers ?? [];
    expect(triggers.filter(({ type }) => type === 'rabbitmq').map(({ metadata }) => metadata.queueName)).toContain(
      'scheduled_action_fire.now',
    );
    expect(triggers.filter(({ type }) => type === 'prometheus').map(({ metadata }) => metadata.query)).toEqual([
      'max(dueline_outbox_oldest_seconds{namespace="messaging"})',
      'max(dueline_actions_oldest_due_seconds{namespace="messaging"})',
    ]);
  });

  it('each alert names its runbook, its app and how urgent it is', () => {
    for (const { manifests, set } of rendered()) {
      for (const { alert, annotations, labels } of ofKind(manifests, 'PrometheusRule').flatMap(
        ({ spec }) => spec.groups?.flatMap(({ rules }) => rules) ?? [],
      )) {
        const page = set === 'production' ? 'https://wiki.example.com/dueline/alerts' : 'docs/alerts.md';
        expect(annotations.runbook_url).toBe(`${page}#${alert.toLowerCase()}`);
        expect(labels).toEqual({
          severity: expect.stringMatching(/^(page|ticket)$/),
          app: expect.stringMatching(/^[a-z-]+$/),
        });
      }
    }
  });

  it('the migration runs before the apps of its release, once for each version', () => {
    const [job] = kindsOf(MIGRATE_CHART, 'minimal', 'Job');
    expect(job?.metadata.annotations).toEqual({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': '0',
      'helm.sh/hook-delete-policy': 'before-hook-creation',
    });
    expect(kindsOf(MIGRATE_CHART, 'off', 'Job').map(({ metadata }) => metadata)).toMatchObject([{ name: 'migrate-1' }]);
    expect(kindsOf(MIGRATE_CHART, 'off', 'Job')[0]?.metadata.annotations).toBeUndefined();
  });
}
