export type { Clock } from './date.ts';
export { type Evaluation, evaluateConditions } from './evaluate.ts';
export { eventFieldsOf } from './event-fields.ts';
export type { LeafResult, Why } from './explain.ts';
export { type Facts, NO_AUDIENCES, NO_EVENT } from './facts.ts';
export {
  type Condition,
  type Leaf,
  MAX_CONDITION_CHILDREN,
  MAX_CONDITION_DEPTH,
  MAX_CONDITION_LEAVES,
  MAX_LIST_LENGTH,
  MAX_TEXT_LENGTH,
  type Moment,
  type Operator,
  type Scalar,
  type Span,
  type StoredCondition,
  type Subject,
} from './language.ts';
export { conditionOf } from './read.ts';
export { type Requirements, requirements } from './requirements.ts';
export { isSameValue } from './text.ts';
