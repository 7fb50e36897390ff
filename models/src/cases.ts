import { check, type Protocol, type Result } from './check.ts';

/** A protocol as designed, or a variant that must fail. */
export interface Case {
  readonly protocol: string;
  /** What is different from the design; undefined: the design. */
  readonly variant: string | undefined;
  /** The property that the variant breaks; undefined: everything must hold. */
  readonly breaks: string | undefined;
  readonly run: () => Result;
}

/** Whether the model says what it must. */
export const isAsExpected = ({ breaks }: Case, { failure }: Result): boolean => failure?.property === breaks;

/** The design: every property must hold in every state. */
export const holds = <State>(name: string, protocol: Protocol<State>): Case => ({
  protocol: name,
  variant: undefined,
  breaks: undefined,
  run: () => check(protocol),
});

/** A variant that must break this one property; what else it breaks is not looked at. */
export const breaks = <State>(
  name: string,
  { variant, property, protocol }: { variant: string; property: string; protocol: Protocol<State> },
): Case => ({ protocol: name, variant, breaks: property, run: () => check(protocol, { only: property }) });
