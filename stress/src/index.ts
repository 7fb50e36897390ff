export { pauseForAnHour } from './campaigns/acts.ts';
export { type CampaignOptions, runCampaigns } from './campaigns/run.ts';
export { exportHistory, type ToProductTime } from './chaos/export.ts';
export { CLEAN, type History, isOver, judgeHistory, type Planned } from './history.ts';
export { changeLines, copySources, type LineChange } from './sources.ts';
