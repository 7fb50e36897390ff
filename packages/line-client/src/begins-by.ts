import type { Dispatcher } from 'undici';

/** Nothing of the request has left. */
class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/** Lets a request leave until this instant of `performance.now()`. It is asked last: the connection is there, and nothing is written yet. */
export const beginsBy =
  (instant: number): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, {
      onRequestStart: (controller, context) => {
        // Thrown, the connection is kept for the next request; an abort would end it, and a slow network would never serve anybody.
        if (performance.now() > instant) throw new TooLateError('it waited too long for a connection');
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...given) => handler.onRequestUpgrade?.(...given),
      onResponseStart: (...given) => handler.onResponseStart?.(...given),
      onResponseData: (...given) => handler.onResponseData?.(...given),
      onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
      onResponseError: (...given) => handler.onResponseError?.(...given),
    });

export const isTooLate = (error: unknown): error is Error => error instanceof TooLateError;
