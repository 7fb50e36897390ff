export type { Alert, AlertGroup } from './alert.ts';
export { type Dashboard, filledIn, type Panel } from './dashboard.ts';
export { DASHBOARDS } from './dashboards/index.ts';
export { findPrograms, type Programs } from './debian-programs.ts';
export { DASHBOARDS_FOLDER, observabilityPages } from './pages.ts';
export { type Matcher, matches, type Selector, type Series, selectorsOf } from './promql.ts';
export { RUNBOOKS, type Rule, ruleFile, ruleGroups } from './rule-file.ts';
