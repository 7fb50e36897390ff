export { type AttentionSubject, type ClosedAs, closeAttention } from './close.ts';
export { type AttentionItem, listAttention } from './list.ts';
export { type AttentionKind, type AttentionToOpen, openAttention } from './open.ts';
