export { type HistoryEntry, type HistoryPage, historyOfRule, historyOfUser } from './decisions.ts';
export { type PastEntry, type Timeline, timelineOf, type UpcomingEntry } from './timeline.ts';
