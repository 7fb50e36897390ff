import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

export type Matcher = { readonly label: string; readonly op: '=' | '!=' | '=~' | '!~'; readonly value: string };

/** The series that a query asks for. */
export type Selector = { readonly metric: string; readonly matchers: readonly Matcher[] };

/** Labels of one series; `__name__` is its metric. */
export type Series = Readonly<Record<string, string>>;

/**
 * Every selector of a PromQL expression, in order.
 *
 * @throws SyntaxError that quotes where the expression stops being PromQL.
 */
export function selectorsOf(expr: string): Selector[] {
  const found: Selector[] = [];
  parser.parse(expr).iterate({
    enter: ({ type, from, to, node }) => {
      if (type.isError)
        throw new SyntaxError(`no PromQL at ${JSON.stringify(expr.slice(Math.max(0, from - 20), to + 20))}: ${expr}`);
      if (type.name === 'VectorSelector') found.push(selectorAt(node, expr));
    },
  });
  return found;
}

function selectorAt(node: SyntaxNode, expr: string): Selector {
  const text = (of: SyntaxNode | null): string => (of === null ? '' : expr.slice(of.from, of.to));
  const matchers = node.getChildren('LabelMatchers').flatMap((all) =>
    all.getChildren('UnquotedLabelMatcher').map((matcher): Matcher => {
      const op = text(matcher.getChild('MatchOp'));
      const quoted = text(matcher.getChild('StringLiteral'));
      return { label: text(matcher.getChild('LabelName')), op: opOf(op), value: String(JSON.parse(quoted)) };
    }),
  );
  return { metric: text(node.getChild('Identifier')), matchers };
}

function opOf(text: string): Matcher['op'] {
  if (text === '=' || text === '!=' || text === '=~' || text === '!~') return text;
  throw new SyntaxError(`no operator: ${text}`);
}

/** Whether a series is one that a selector asks for; a label that it has not is empty, as Prometheus has it. */
export function matches({ metric, matchers }: Selector, series: Series): boolean {
  return series.__name__ === metric && matchers.every((matcher) => holds(matcher, series[matcher.label] ?? ''));
}

function holds({ op, value }: Matcher, is: string): boolean {
  const same = op.endsWith('~') ? new RegExp(`^(?:${value})$`).test(is) : value === is;
  return op.startsWith('!') ? !same : same;
}
