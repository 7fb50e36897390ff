export { isPublicAddress } from './address.ts';
export { type CallWebhook, createWebhookClient, type WebhookOutcome, type WebhookRequest } from './client.ts';
export { signatureOf } from './sign.ts';
