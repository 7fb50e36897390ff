export { createTrackedLink, issueCampaignLink, issueLink, type LinkIssue } from './author.ts';
export { type CampaignClicks, type ClickCount, countCampaignClicks, type LinkClicks } from './campaign-clicks.ts';
export { type Click, type ClickedLink, type RecordedClick, recordClick } from './click.ts';
export { loadClickedCampaigns } from './issued-campaigns.ts';
