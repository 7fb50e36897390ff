import { LIBRARY_CHART, type Peer, type ServiceChart } from './charts.ts';
import type { AppVariables } from './config-values.ts';
import {
  asIs,
  count,
  type JsonSchema,
  labels,
  object,
  oneOf,
  type Properties,
  text,
  texts,
  yesOrNo,
} from './json-schema.ts';

/** The part of a stop that is not the app's own: `shutdownSeconds` and so much is the pod's grace. */
const SHUTDOWN_MAXIMUM_SECONDS = 3_590;

const SCHEMA = 'http://json-schema.org/draft-07/schema#';

const image = object('The image.', {
  registry: text('Registry, without the repository; that of `global.image` when empty.'),
  repository: text('Repository.', { minLength: 1 }),
  tag: text("Tag; the chart's appVersion when empty. `latest` is refused: nobody can say what runs.", {
    not: { enum: ['latest'] },
  }),
  digest: text('Digest, which counts more than the tag.', { pattern: '^(sha256:[0-9a-f]{64})?$' }),
  pullPolicy: oneOf('When the image is fetched.', ['IfNotPresent', 'Always', 'Never']),
  pullSecrets: texts('Names of Secrets with which the image is fetched; those of `global.image` when empty.'),
});

const resources = object(
  "What a pod asks for, and may take. No limit of processors by default: it costs lateness, and saves nobody's.",
  {
    requests: labelsOfQuantities('Asked for.'),
    limits: labelsOfQuantities('At most.'),
  },
);

function labelsOfQuantities(description: string): JsonSchema {
  const quantity = {
    type: ['string', 'number'],
    description: 'A quantity of Kubernetes, for example `500m`, `256Mi`.',
  };
  return object(description, { cpu: quantity, memory: quantity });
}

const placement: Properties = {
  nodeSelector: labels('Labels of the nodes that may run it.'),
  tolerations: asIs('array', 'Tolerations, as in a pod.'),
  affinity: asIs('object', 'Affinity, as in a pod.'),
  priorityClassName: text('Priority class of the pods.'),
  podAnnotations: labels('Annotations of the pods.'),
  podLabels: labels('Further labels of the pods.'),
  serviceAccount: object('No pod of ours talks to Kubernetes, so none gets a token.', {
    name: text('Service account that the pods run as; the default one when empty.'),
  }),
};

const library = asIs('object', 'Nothing: Helm adds it, because the library is a chart too.');

const umbrella: Properties = {
  enabled: yesOrNo('Whether the umbrella chart installs it.'),
  [LIBRARY_CHART]: library,
  global: asIs('object', 'Values of the umbrella chart for all: `image.registry`, `image.pullSecrets`.'),
};

const PEERS: Readonly<Record<Peer | 'collector' | 'dns', string>> = {
  postgres: 'PostgreSQL, or its pooler.',
  rabbitmq: 'RabbitMQ.',
  redis: 'Redis.',
  line: 'LINE: any public address by default.',
  collector: 'The collector of traces; a rule only where OTEL_EXPORTER_OTLP_ENDPOINT is set.',
  dns: 'The name service, port 53.',
};

/** The block of values of a NetworkPolicy. */
function networkPolicySchema(peers: readonly Peer[], { isService }: { isService: boolean }): JsonSchema {
  const peer = (name: keyof typeof PEERS): [string, JsonSchema] => [
    name,
    object(PEERS[name], {
      ...(name === 'dns'
        ? {}
        : { ports: { type: 'array', description: 'Ports.', items: { type: 'integer', minimum: 1, maximum: 65_535 } } }),
      to: asIs('array', 'Peers, as in a NetworkPolicy; any address when empty.'),
    }),
  ];
  return object('What the pods may talk to: nothing but these.', {
    enabled: yesOrNo('Whether there is a policy.'),
    ...Object.fromEntries([peer('dns'), ...peers.map(peer), ...(isService ? [peer('collector')] : [])]),
    ...(isService
      ? {
          metrics: object('Who may scrape.', {
            from: asIs('array', 'Peers that may reach health and metrics, as in a NetworkPolicy; any when empty.'),
          }),
        }
      : {}),
  });
}

const reference = object(
  'Where it is.',
  { name: text('Name of the Secret.', { minLength: 1 }), key: text('Key in it.', { minLength: 1 }) },
  ['name', 'key'],
);

/** The block of values that says in which Secrets the variables are that hold a password or a key. */
function secretsSchema({ secrets, required }: AppVariables): JsonSchema {
  const names = Object.keys(secrets);
  return object(
    'In which Secrets the variables are that hold a password or a key. Values hold none.',
    Object.fromEntries(
      names.map((name) => [
        name,
        {
          ...reference,
          description: secrets[name] ?? '',
          ...(required.includes(name) ? {} : { type: ['object', 'null'] }),
        },
      ]),
    ),
    names.filter((name) => required.includes(name)),
  );
}

const autoscaling = object(
  'How many replicas: a fixed number, by processor time (hpa), or by what waits (keda). Never two of these at once.',
  {
    kind: oneOf('`keda` needs KEDA in the cluster.', ['none', 'hpa', 'keda']),
    minReplicas: count('At least.', 1, 200),
    maxReplicas: count('At most. Mind DATABASE_MAX_CONNECTIONS of each.', 1, 200),
    cpuPercent: count('hpa: of the processor time that is asked for.', 1, 100),
    queueMessages: count('keda: messages that wait in a queue for each replica; a message holds up to 100 tickets.', 1),
    prometheusUrl: text('keda: where Prometheus is, for scaling by lateness; empty: only by queues.'),
    lateSeconds: count('keda: seconds of lateness for each replica.', 1),
  },
);

function alertsOf(description: string): JsonSchema {
  return object(description, {
    enabled: yesOrNo('Whether there is a PrometheusRule.'),
    labels: labels('Labels by which your Prometheus finds it.'),
    runbooks: text('Address of the page with the runbooks.', { minLength: 1 }),
  });
}

const exposure: Properties = {
  serviceMonitor: object('Scrapes by the Prometheus operator.', {
    enabled: yesOrNo('Whether there is a ServiceMonitor.'),
    interval: text('Between two scrapes.', { pattern: '^[0-9]+(ms|s|m)$' }),
    labels: labels('Labels by which your Prometheus finds it.'),
  }),
  alerts: alertsOf('Alerts for the Prometheus operator; each has a section in docs/alerts.md.'),
};

/** values.schema.json of a service's chart. */
export function serviceSchema(chart: ServiceChart, variables: AppVariables): JsonSchema & { $schema: string } {
  const service: Properties = {
    replicas: count(
      chart.scales ? 'Replicas, where nothing scales.' : 'Replicas. One works; two let one fail.',
      0,
      200,
    ),
    port: count('Port of health and metrics.', 1_024, 65_535),
    shutdownSeconds: count("Seconds for an ordered stop; the pod's grace is ten more.", 5, SHUTDOWN_MAXIMUM_SECONDS),
    config: object(
      "Settings of the app, by the names of its variables. What is not given has the app's default.",
      variables.config,
    ),
    secrets: secretsSchema(variables),
    ...(chart.scales ? { autoscaling } : {}),
    rollout: object('How a new version replaces an old one.', {
      maxUnavailable: count('Pods that may be missing.', 0),
      maxSurge: count('Pods that may be too many.', 0),
    }),
    probes: object('How long a process may be silent.', {
      startSeconds: count('For its start.', 2),
      hungSeconds: count('Before it is taken for hung and restarted.', 10),
    }),
    podDisruptionBudget: object('What a drain of nodes may do.', {
      enabled: yesOrNo('Whether there is a budget; there is none for a single replica.'),
      maxUnavailable: { type: ['integer', 'string'], description: 'Pods that may be away at once.' },
    }),
    topologySpread: object('Replicas spread over zones and nodes.', {
      enabled: yesOrNo('Whether they are.'),
      whenUnsatisfiable: oneOf('What happens where they cannot be.', ['ScheduleAnyway', 'DoNotSchedule']),
    }),
    networkPolicy: networkPolicySchema(chart.talksTo, { isService: true }),
    ...exposure,
  };
  return {
    $schema: SCHEMA,
    ...object(`Values of ${chart.name}.`, { ...umbrella, image, ...service, resources, ...placement }),
  };
}

/** values.schema.json of the chart that migrates. */
export function migrateSchema(variables: AppVariables): JsonSchema & { $schema: string } {
  const job: Properties = {
    hook: yesOrNo(
      'Whether the Job runs before each install and upgrade of the release; else it is an object of the release like others.',
    ),
    topology: object('Queues, exchanges and policies.', {
      enabled: yesOrNo('Whether the Job declares them as well.'),
      permissions: yesOrNo(
        'Whether it also gives the users of the broker that are called as the apps are their permissions; AMQP_MANAGEMENT_URL names an administrator then.',
      ),
    }),
    logins: object('The logins of the apps.', {
      enabled: yesOrNo(
        'Whether the Job makes them at database and broker, as the URLs of the apps say that `secrets` names; for an owner of the schema who may make roles, and an administrator of the broker.',
      ),
    }),
    deadlineSeconds: count('Seconds for all tries; then the release fails.', 60),
    retries: count('Further tries.', 0, 10),
    keepSeconds: count('Seconds that an ended Job is kept for its log.', 0),
    secrets: secretsSchema(variables),
    networkPolicy: networkPolicySchema(['postgres', 'rabbitmq'], { isService: false }),
  };
  return { $schema: SCHEMA, ...object('Values of migrate.', { ...umbrella, image, ...job, resources, ...placement }) };
}

const dashboards = object('Dashboards of Grafana, each as a ConfigMap.', {
  enabled: yesOrNo('Whether they are installed.'),
  labels: asIs('object', "By which Grafana's sidecar finds them."),
});

/** values.schema.json of the umbrella: the values of each chart are checked by its own. */
export function umbrellaSchema(charts: readonly string[]): JsonSchema & { $schema: string } {
  const parts = charts.map((name): [string, JsonSchema] => [
    name,
    asIs('object', `Values of ${name}; its README has them.`),
  ]);
  const alerts = alertsOf(
    'Alerts on RabbitMQ (its own metrics, `/metrics/detailed` included) and PostgreSQL (postgres_exporter).',
  );
  const global = object('For all charts.', {
    image: object('Where the images are.', {
      registry: text('Registry of every image.'),
      pullSecrets: texts('Names of Secrets with which images are fetched.'),
    }),
  });
  return {
    $schema: SCHEMA,
    ...object('Values of the umbrella chart.', {
      global,
      alerts,
      dashboards,
      [LIBRARY_CHART]: library,
      ...Object.fromEntries(parts),
    }),
  };
}
