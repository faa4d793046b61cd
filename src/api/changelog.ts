/** One change of the customers' API, as its readers see it. */
export type Change = {
  readonly kind: 'added' | 'changed' | 'removed' | 'fixed'
  readonly text: string
  readonly textRu: string
  /** Operations that it concerns; empty for all. */
  readonly operations: readonly string[]
}

/** Changes of a day. Programs can choose a version; a release without one only adds. */
export type Release = { readonly date: string; readonly isVersion: boolean; readonly changes: readonly Change[] }

/** What changed for programs, newest first: the source of `GET /changelog` and of /docs/changelog. */
export const changelog: readonly Release[] = [
  {
    date: '2026-11-19',
    isVersion: true,
    changes: [
      {
        kind: 'added',
        text: 'Versions of the API: each token has one, and `Turnpike-Version` in a request tries another.',
        textRu: 'Версии API: у каждого токена своя, а `Turnpike-Version` в запросе пробует другую.',
        operations: ['createToken', 'setTokenVersion', 'listTokens'],
      },
      {
        kind: 'added',
        text: '`metadata`: your own keys and values on orders, proxies, sub-users and subscriptions, also in events.',
        textRu: '`metadata`: ваши ключи и значения у заказов, прокси, субпользователей и подписок, а также в событиях.',
        operations: ['setMetadata', 'buyDedicated', 'buyTraffic', 'buyVpn', 'createSubuser'],
      },
      {
        kind: 'added',
        text: 'Operations are tools of MCP at `/mcp`. `GET /token` shows scopes and cap of the token in use.',
        textRu: 'Операции — инструменты MCP по адресу `/mcp`. `GET /token` показывает права и предел токена запроса.',
        operations: ['getToken'],
      },
      {
        kind: 'added',
        text: 'A log of your own requests of the last 7 days.',
        textRu: 'Журнал ваших запросов за последние 7 дней.',
        operations: ['listRequests'],
      },
      {
        kind: 'added',
        text: '`GET /dedicated/traffic`: the bytes of proxies on each of the last 31 days.',
        textRu: '`GET /dedicated/traffic`: байты прокси за каждый из последних 31 дня.',
        operations: ['getDailyTraffic'],
      },
      {
        kind: 'added',
        text: '`error.doc_url` in every refusal: the row of its reason on the page of reasons.',
        textRu: '`error.doc_url` в каждом отказе: строка его причины на странице причин.',
        operations: [],
      },
    ],
  },
]
