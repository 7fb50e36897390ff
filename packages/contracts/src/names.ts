import { z } from 'zod';
import { isStorable, NOT_STORABLE } from './storable.ts';

/** Longest attribute name in characters. */
export const MAX_ATTRIBUTE_NAME_LENGTH = 128;

export const attributeName = z.string().min(1).max(MAX_ATTRIBUTE_NAME_LENGTH).refine(isStorable, NOT_STORABLE);
