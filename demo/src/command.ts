/** Aborts at the first Ctrl-C, SIGTERM or SIGHUP, so that what runs can end in order; the second one ends the process at once. */
export function untilInterrupted(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(130); // the apps follow their parent, the servers go with the exit hook of their run
      interrupted.abort();
    });
  }
  return interrupted.signal;
}

export interface Command<Options> {
  readonly help: string;
  /** Reads the words after the command. @throws Error when they are not understood. */
  readonly read: (words: readonly string[]) => Options | 'help';
  /** @returns The exit code. */
  readonly run: (options: Options) => Promise<number>;
}

/** Runs a command: with its help, or what is wrong with its words (exit code 2), or what went wrong (1). */
export async function runCommand<Options>({ help, read, run }: Command<Options>): Promise<void> {
  const options = understood(() => read(process.argv.slice(2)), help);
  if (options === 'help') process.stdout.write(help);
  else if (options !== undefined) {
    try {
      process.exitCode = await run(options);
    } catch (error) {
      fail(error, { code: 1 });
    }
  }
}

function understood<Options>(read: () => Options, help: string): Options | undefined {
  try {
    return read();
  } catch (error) {
    return fail(error, { code: 2, help: `\n${help}` });
  }
}

function fail(error: unknown, { code, help = '' }: { code: number; help?: string }): undefined {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${help}`);
  process.exitCode = code;
}
