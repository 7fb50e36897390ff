import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { findPrograms, RUNBOOKS, ruleFile, ruleGroups, selectorsOf } from '../src/index.ts';
import type { AlertCase } from './alert-cases/alert-case.ts';
import { ALERT_CASES } from './alert-cases.ts';

const ROOT = dirname(dirname(dirname(import.meta.dirname)));
const FLAT = { lineWidth: 0 };
const RULES = ruleGroups().flatMap(({ rules }) => rules);
const NAMES = [...new Set(RULES.map(({ alert }) => alert))];

const found = await findPrograms('prometheus', ROOT);
const NEEDS = 'missing' in found ? ` (skipped: ${found.missing})` : '';

it.each(RULES)('$alert of $labels.app is PromQL, and asks for something', ({ expr }) => {
  expect(selectorsOf(expr).length).toBeGreaterThan(0);
});

it('an expression that is no PromQL is refused, with where it stops', () => {
  expect(() => selectorsOf('sum(rate(dueline_decisions_total[5m]) > 0')).toThrow(/no PromQL at .*> 0/);
});

it('every alert has a section of its own that says what it means, how to look and what to do', () => {
  const page = readFileSync(join(ROOT, RUNBOOKS), 'utf8');
  const sections = new Map(
    page
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.split('\n')[0], section.split(/^## /m)[0] ?? '']),
  );
  expect([...sections.keys()].toSorted()).toEqual(NAMES.toSorted());
  for (const { alert, labels } of RULES) {
    const section = sections.get(alert) ?? '';
    expect({ alert, section }).toEqual({ alert, section: expect.stringContaining(`*${labels.severity}.*`) });
    const headings = ['**Means**', '**Look**', '**Do**', '**Wake**'].filter((heading) => !section.includes(heading));
    expect({ alert, headings }).toEqual({ alert, headings: [] });
  }
});

it('the address of each runbook is that of a heading of the page', () => {
  const anchors = new Set(
    [...readFileSync(join(ROOT, RUNBOOKS), 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      anchorOf(heading ?? ''),
    ),
  );
  const addresses = RULES.map(({ annotations }) => annotations.runbook_url);
  expect(addresses.filter((url) => !(url.startsWith(`${RUNBOOKS}#`) && anchors.has(url.split('#')[1] ?? '')))).toEqual(
    [],
  );
});

it('every alert has series with which it rings, and with which it does not', () => {
  expect(ALERT_CASES.map(({ alert }) => alert).toSorted()).toEqual(NAMES.toSorted());
});

describe.skipIf(NEEDS !== '')(`the alerts${NEEDS}`, () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'dueline-alerts-'));
    writeFileSync(join(folder, 'rules.yml'), ruleFile());
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const promtool = (...args: string[]) => run('paths' in found ? (found.paths.promtool ?? '') : '', args, folder);

  it('Prometheus takes the rules', async () => {
    expect(await promtool('check', 'rules', 'rules.yml')).toMatchObject({
      ok: true,
      output: /SUCCESS: \d+ rules found/,
    });
  });

  it.each(ALERT_CASES)('$alert rings when it must, and not when it must not', async (alert) => {
    writeFileSync(join(folder, 'one.yml'), stringify({ groups: [{ name: 'one', rules: [ruleOf(alert)] }] }, FLAT));
    writeFileSync(join(folder, 'test.yml'), stringify(testOf(alert), FLAT));
    expect(await promtool('test', 'rules', 'test.yml')).toEqual({ ok: true, output: expect.any(String) });
  });
});

/** That rule alone, because promtool evaluates all that it is given at every minute. */
const ruleOf = ({ alert, app }: AlertCase) => RULES.find((one) => one.alert === alert && one.labels.app === app);

/** The cases of an alert as promtool has them. */
function testOf(alertCase: AlertCase): object {
  const { alert, app, at, labels, rings, silent } = alertCase;
  const rule = ruleOf(alertCase);
  const expected = [{ exp_labels: { ...rule?.labels, ...labels }, exp_annotations: rule?.annotations }];
  const group = (series: Readonly<Record<string, string>>, exp_alerts: readonly object[]) => ({
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({
      series: name.replace('$app', `job="${app}"`),
      values,
    })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts }],
  });
  return {
    rule_files: ['one.yml'],
    evaluation_interval: '1m',
    tests: [group(rings, expected), ...Object.values(silent).map((series) => group(series, []))],
  };
}

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

function run(command: string, args: readonly string[], cwd: string): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd }, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: stdout + stderr }),
    );
  });
}
