import { z } from 'zod';

/** What the gate reads of a bench report (`./dueline bench … --json`). */
const report = z.object({
  scenario: z.string(),
  lost: z.number(),
  doubled: z.number(),
  findings: z.array(
    z.object({
      what: z.string(),
      to: z.string().optional(),
      floor: z.number(),
      value: z.number().optional(),
      verdict: z.enum(['goal', 'floor', 'missed', 'not measured']),
    }),
  ),
});

/**
 * What in a bench report must not pass: something lost or doubled, and a missed floor of a proportion between two contestants of the
 * same run. Figures of one contestant alone are left to people, because they tell more of the machine than of the code.
 *
 * @throws ZodError when it is no report of the bench.
 */
export function failuresOf(json: unknown): string[] {
  const { scenario, lost, doubled, findings } = report.parse(json);
  const missed = findings.filter(({ to, verdict }) => to !== undefined && verdict === 'missed');
  return [
    ...(lost > 0 ? [`${scenario}: ${lost} lost`] : []),
    ...(doubled > 0 ? [`${scenario}: ${doubled} doubled`] : []),
    ...missed.map(({ what, to, floor, value }) => `${scenario}: ${what} is ${value} times ${to}, floor ${floor}`),
  ];
}
