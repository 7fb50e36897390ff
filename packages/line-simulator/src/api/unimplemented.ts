/** Operations of the Messaging API that the product does not call: whoever calls one is told, and V10 is written. */
const BY_PREFIX: readonly [prefix: string, operations: readonly string[]][] = [
  ['/v2/bot/channel/webhook', ['GET /endpoint', 'PUT /endpoint', 'POST /test']],
  [
    '/v2/bot/message',
    [
      'GET /delivery/pnp',
      'POST /markAsRead',
      'GET /:messageId/content',
      'GET /:messageId/content/preview',
      'GET /:messageId/content/transcoding',
    ],
  ],
  ['/v2/bot/chat', ['POST /loading/start', 'POST /markAsRead']],
  [
    '/v2/bot/group/:groupId',
    ['POST /leave', 'GET /summary', 'GET /member/:userId', 'GET /members/ids', 'GET /members/count'],
  ],
  ['/v2/bot/room/:roomId', ['POST /leave', 'GET /member/:userId', 'GET /members/ids', 'GET /members/count']],
  ['/v2/bot/richmenu', ['POST /validate', 'POST /validate/batch']],
  [
    '/v2/bot/user',
    ['GET /all/richmenu', 'DELETE /all/richmenu', 'POST /all/richmenu/:richMenuId', 'POST /:userId/linkToken'],
  ],
  ['/v2/bot/membership', ['GET /list', 'GET /subscription/:userId', 'GET /:membershipId/users/ids']],
  ['/v2/bot/coupon', ['GET ', 'POST ', 'GET /:couponId', 'PUT /:couponId/close']],
  [
    '/v2/bot/audienceGroup',
    [
      'POST /upload/byFile',
      'PUT /upload/byFile',
      'POST /click',
      'POST /imp',
      'GET /list',
      'GET /shared/list',
      'GET /shared/:audienceGroupId',
      'DELETE /:audienceGroupId',
      'PUT /:audienceGroupId/updateDescription',
    ],
  ],
  [
    '/v2/bot/insight',
    [
      'GET /demographic',
      'GET /followers',
      'GET /message/delivery',
      'GET /message/event',
      'GET /richmenu/:richMenuId/summary',
      'GET /richmenu/:richMenuId/daily',
    ],
  ],
  ['/oauth2', ['POST /v2.1/revoke', 'GET /v2.1/verify', 'GET /v2.1/tokens/kid']],
  ['/v2/oauth', ['POST /verify', 'POST /revoke']],
  ['/bot/pnp', ['POST /push']],
];

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
}

export const UNIMPLEMENTED: readonly Operation[] = BY_PREFIX.flatMap(([prefix, operations]) =>
  operations.map((operation): Operation => {
    const [method, path] = operation.split(' ');
    if (method !== 'GET' && method !== 'POST' && method !== 'PUT' && method !== 'DELETE') {
      throw new Error(`no method in ${operation}`);
    }
    return { method, path: prefix + (path ?? '') };
  }),
);
