import { parseAllDocuments } from 'yaml';

/** A label selector or labels. */
export type Labels = Readonly<Record<string, string>>;

export type EnvVar = {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
};

export type Container = {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env: readonly EnvVar[];
  readonly securityContext: unknown;
  readonly resources: { readonly requests?: unknown; readonly limits?: Readonly<Record<string, unknown>> };
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: unknown;
  readonly [probe: `${string}Probe`]: { readonly httpGet: { readonly path: string } };
};

export type PodSpec = {
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: unknown;
  readonly terminationGracePeriodSeconds?: number;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: { readonly matchLabels: Labels } }[];
};

type Peers = { readonly ports: readonly { readonly port: number | string }[]; readonly to?: readonly unknown[] };

/** As much of a manifest as the tests look at; whether it is one, infra/helm/validate says. */
export type Manifest = {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels; readonly annotations?: Labels };
  readonly spec: {
    readonly replicas?: number;
    readonly strategy?: unknown;
    readonly selector?: unknown;
    readonly podSelector?: { readonly matchLabels: Labels };
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly policyTypes?: readonly string[];
    readonly egress?: readonly Peers[];
    readonly groups?: readonly { readonly rules: readonly Alert[] }[];
    readonly triggers?: readonly { readonly type: string; readonly metadata: Labels }[];
    readonly maxUnavailable?: unknown;
  };
};

type Alert = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Labels;
  readonly annotations: { readonly runbook_url: string };
};

/** The manifests of a stream, in order; documents without content are none. */
export function readManifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const manifest = document.toJS() as Manifest | null;
    return manifest === null ? [] : [manifest];
  });
}

export const ofKind = (manifests: readonly Manifest[], kind: string): Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);

/** The pods that Deployments and Jobs make. */
export const podsOf = (manifests: readonly Manifest[]): { labels: Labels; spec: PodSpec; of: Manifest }[] =>
  manifests.flatMap((of) => {
    const { template } = of.spec ?? {};
    return template === undefined ? [] : [{ labels: template.metadata.labels, spec: template.spec, of }];
  });

export const containersOf = (spec: PodSpec): Container[] => [...(spec.initContainers ?? []), ...spec.containers];

export const selects = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);
