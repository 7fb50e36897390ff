import { errorText } from '@dueline/kernel';
import { type NoAnswer, shortDetail } from './outcome.ts';

/** Failures before the first byte of the request left: no name, no connection, no trusted peer. */
const BEFORE_THE_REQUEST: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG', // a header that HTTP cannot carry
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'HOSTNAME_MISMATCH',
]);

/**
 * The outcome of an attempt that ended without the head of an answer.
 * Only causes that are known to come before the request count as not reached; all others are ambiguous.
 */
export function outcomeOfFailure(error: unknown): NoAnswer {
  const kind = isBeforeTheRequest(error) ? 'not_reached' : 'ambiguous';
  return { kind, detail: shortDetail(failureText(error)) };
}

/** The codes of the causes, which are short and carry no data; the message where there is no code. */
export function failureText(error: unknown): string {
  const cause = causeOf(error);
  const codes = leaves(cause).map((leaf) => codeOf(leaf) ?? errorText(leaf));
  return [...new Set(codes)].join(', ');
}

function isBeforeTheRequest(error: unknown): boolean {
  return leaves(causeOf(error)).every((leaf) => {
    const code = codeOf(leaf);
    if (code !== undefined && (BEFORE_THE_REQUEST.has(code) || code.startsWith('CERT_'))) return true;
    return leaf instanceof Error && 'syscall' in leaf && leaf.syscall === 'connect';
  });
}

/** What happened may be wrapped; the innermost cause is the evidence. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? causeOf(error.cause) : error;
}

/** A host with several addresses fails with one error per address; every one of them counts. */
function leaves(error: unknown): unknown[] {
  return error instanceof AggregateError && error.errors.length > 0
    ? error.errors.flatMap((member: unknown) => leaves(causeOf(member)))
    : [error];
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
