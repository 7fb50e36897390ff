export { createTrackedLink, issueLink, type LinkIssue } from './author.ts';
export { type Click, type ClickedLink, type RecordedClick, recordClick } from './click.ts';
