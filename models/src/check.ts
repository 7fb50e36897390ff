/** Something that can happen in a state, in words, and the state that it leads to. */
export interface Step<State> {
  readonly says: string;
  readonly to: State;
}

/** Everything that one actor can do next. Pure: the same state always gives the same steps. */
type Actor<State> = (state: State) => Iterable<Step<State>>;

/** Named statements about a protocol; the name is what a reader is told when one is false. */
type Properties<Args extends readonly unknown[]> = Readonly<Record<string, (...args: Args) => boolean>>;

export interface Protocol<State> {
  /** Plain immutable data without undefined: two states are the same when their JSON is. */
  readonly start: State;
  /** Those who act as soon as they can. */
  readonly actors: readonly Actor<State>[];
  /** What may happen and need not: crashes, losses, people. A state is *at rest* when only these are left. */
  readonly mayHappen: readonly Actor<State>[];
  /** True in every state. */
  readonly always: Properties<[state: State]>;
  /** True of every step. */
  readonly everyStep: Properties<[before: State, after: State]>;
  /** True in every state at rest. */
  readonly atRest: Properties<[state: State]>;
}

/** The built-in property: from every state the actors alone can come to rest. */
export const COMES_TO_REST = 'the actors can come to rest';

export interface Failure {
  readonly property: string;
  /** The shortest way there, as readable steps. */
  readonly trace: readonly string[];
  /** The state at the end of the trace. */
  readonly state: unknown;
}

export interface Result {
  readonly states: number;
  /** undefined: everything holds in every state. */
  readonly failure: Failure | undefined;
}

interface Options {
  /** Looks at this property alone. */
  readonly only?: string;
  /** @throws Error when there are more states than this: then the bounds of the model are too wide. */
  readonly maxStates?: number;
}

/** Visits every state that any interleaving of the steps can reach, nearest first; stops at the first property that is false. */
export function check<State>(protocol: Protocol<State>, { only, maxStates = 2_000_000 }: Options = {}): Result {
  const graph = createGraph(protocol.start);
  const failure = explore(graph, only === undefined ? protocol : narrowed(protocol, only), maxStates);
  if (failure !== undefined || (only !== undefined && only !== COMES_TO_REST))
    return { states: graph.states.length, failure };
  const at = graph.firstRestless();
  return { states: graph.states.length, failure: at === undefined ? undefined : graph.failureAt(at, COMES_TO_REST) };
}

function explore<State>(graph: Graph<State>, protocol: Protocol<State>, maxStates: number): Failure | undefined {
  for (const [at, state] of graph.states.entries()) {
    const broken = firstFalse(protocol.always, state);
    if (broken !== undefined) return graph.failureAt(at, broken);
    let isAtRest = true;
    for (const { step, acts } of stepsFrom(protocol, state)) {
      const brokenByStep = firstFalse(protocol.everyStep, state, step.to);
      if (brokenByStep !== undefined) return graph.failureAt(at, brokenByStep, step);
      const to = graph.add(step, at);
      if (!acts) continue;
      graph.link(at, to);
      isAtRest = false;
    }
    if (isAtRest) {
      graph.rest(at);
      const unfinished = firstFalse(protocol.atRest, state);
      if (unfinished !== undefined) return graph.failureAt(at, unfinished);
    }
    if (graph.states.length > maxStates) throw new Error(`there are more than ${maxStates} states`);
  }
  return undefined;
}

const firstFalse = <Args extends readonly unknown[]>(properties: Properties<Args>, ...args: Args): string | undefined =>
  Object.entries(properties).find(([, holds]) => !holds(...args))?.[0];

/** The protocol with one property left. */
function narrowed<State>(protocol: Protocol<State>, only: string): Protocol<State> {
  const { always, everyStep, atRest } = protocol;
  if (only !== COMES_TO_REST && !(only in always || only in everyStep || only in atRest)) {
    throw new Error(`there is no property "${only}"`);
  }
  const pick = <Args extends readonly unknown[]>(properties: Properties<Args>): Properties<Args> =>
    Object.fromEntries(Object.entries(properties).filter(([name]) => name === only));
  return { ...protocol, always: pick(always), everyStep: pick(everyStep), atRest: pick(atRest) };
}

function* stepsFrom<State>({ actors, mayHappen }: Protocol<State>, state: State) {
  for (const actor of actors) for (const step of actor(state)) yield { step, acts: true };
  for (const fault of mayHappen) for (const step of fault(state)) yield { step, acts: false };
}

/** JSON cannot tell undefined from null or from nothing, so two states would pass for one and a part would never be visited. */
const holdsUndefined = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.values(value).some(holdsUndefined));

type Graph<State> = ReturnType<typeof createGraph<State>>;

/** States in the order of their discovery, with the step that first led to each, and which of them can come to rest. */
function createGraph<State>(start: State) {
  const states = [start];
  const cameBy: { from: number; says: string }[] = [{ from: -1, says: '' }];
  const known = new Map([[JSON.stringify(start), 0]]);
  const links: (readonly [from: number, to: number])[] = [];
  const restable = new Set<number>();
  return {
    states,
    add: ({ says, to }: Step<State>, from: number): number => {
      if (holdsUndefined(to)) throw new Error(`"${says}" leads to a state with undefined in it: use null`);
      const key = JSON.stringify(to);
      const at = known.get(key) ?? states.length;
      if (at < states.length) return at;
      known.set(key, at);
      states.push(to);
      cameBy.push({ from, says });
      return at;
    },
    link: (from: number, to: number) => void links.push([from, to]),
    rest: (at: number) => void restable.add(at),
    failureAt: (at: number, property: string, last?: Step<State>): Failure => {
      const trace = last === undefined ? [] : [last.says];
      for (let step = cameBy[at]; step !== undefined && step.from >= 0; step = cameBy[step.from]) trace.push(step.says);
      return { property, trace: trace.toReversed(), state: last === undefined ? states[at] : last.to };
    },
    /** The nearest state from which no step of an actor leads to rest. */
    firstRestless: (): number | undefined => {
      const backwards = links.toReversed(); // most links lead to later states, so few passes are enough
      for (let before = -1; before !== restable.size; ) {
        before = restable.size;
        for (const [from, to] of backwards) if (restable.has(to)) restable.add(from);
      }
      const at = states.findIndex((_, index) => !restable.has(index));
      return at === -1 ? undefined : at;
    },
  };
}
