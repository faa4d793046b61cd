import { Button, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useOwner } from '../client/session.ts'
import { type Attempt, attemptsKey, conclude, forget, listLeft, runAttempt } from '../shared/attempts.ts'
import { useNow } from '../shared/browser.ts'
import { messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Notice, RefusalNotice } from '../shared/parts.tsx'
import { refresh } from '../shared/queries.ts'
import { api } from './api.ts'

const unfinishedMessages = messages({
  names: names({
    buyDedicated: pair('Purchase of dedicated proxies', 'Покупка выделенных прокси'),
    prolongDedicated: pair('Prolongation of dedicated proxies', 'Продление выделенных прокси'),
    buyTraffic: pair('Purchase of premium traffic', 'Покупка премиум-трафика'),
    buyVpn: pair('Purchase of a VPN subscription', 'Покупка подписки на VPN'),
    renewVpn: pair('Renewal of a VPN subscription', 'Продление подписки на VPN'),
  }),
  bought: phrase('It succeeded: {price} was charged.', 'Прошла успешно, списано {price}.'),
  refused: phrase('Not made, and no money was charged. {cause}', 'Не состоялась, деньги не списаны. {cause}'),
  unknown: pair(
    (when: string) =>
      `You started it ${when}, and its answer did not arrive. The shop has no such order now, and nothing was ` +
      'charged. To buy, ask again: the order is charged once, even if the first request arrives late.',
    (when) =>
      `Вы начали её ${when}, но ответ не пришёл. Сейчас такого заказа в магазине нет, деньги не списаны. ` +
      'Чтобы купить, повторите запрос: деньги спишутся один раз, даже если первый запрос ещё дойдёт.',
  ),
  asking: pair(
    'The answer did not arrive. Checking whether the purchase was made…',
    'Ответ не пришёл. Проверяем, прошла ли покупка…',
  ),
  askAgain: pair('Ask again', 'Повторить запрос'),
  hide: pair('Hide', 'Скрыть'),
  show: pair('Show', 'Показать'),
})

/** The page with the goods of each operation that charges. */
const pages = {
  buyDedicated: '#/dedicated',
  prolongDedicated: '#/dedicated',
  buyTraffic: '#/premium',
  buyVpn: '#/vpn',
  renewVpn: '#/vpn',
} as const

type Kept = Attempt & { readonly operation: keyof typeof pages }

/** The name of the operation comes from the browser's storage. */
const isKept = (attempt: Attempt): attempt is Kept => attempt.operation in pages

/** Purchases whose form was left, reloaded or closed before the answer came, and their outcomes. */
export function UnfinishedPurchases() {
  const owner = useOwner()
  const found = useQuery({
    queryKey: [...attemptsKey, owner],
    queryFn: () => listLeft(owner),
    networkMode: 'always',
  })
  return found.data?.filter(isKept).map((each) => <Unfinished key={each.key} of={each} />)
}

const askEveryMs = 5_000

/** The order that an attempt has made, or null; asked again while there is none. */
function useOrder(of: Kept) {
  const { key: idempotency_key, outcome } = of
  return useQuery({
    queryKey: ['listOrders', 'by key', idempotency_key],
    queryFn: async () => {
      const [order = null] = (await api.call('listOrders', { query: { idempotency_key } })).orders
      // The purchase is over: the same order from the form is a new purchase.
      if (order !== null && outcome === undefined) conclude(of, { order: order.order_id })
      return order
    },
    enabled: outcome === undefined || 'order' in outcome,
    refetchInterval: ({ state }) => (state.data ? false : askEveryMs),
  }).data
}

function Unfinished({ of }: { readonly of: Kept }) {
  const { t, format } = useMessages(unfinishedMessages)
  const queries = useQueryClient()
  const nowAt = useNow()
  const order = useOrder(of)
  const again = useMutation({
    mutationFn: () => runAttempt({ ...of }, () => api.call(of.operation, { body: of.body as never, key: of.key })),
    onSettled: () => refresh(queries),
  })
  const close = () => {
    forget(of)
    void queries.invalidateQueries({ queryKey: attemptsKey })
  }
  const cause = of.outcome !== undefined && 'refusal' in of.outcome ? of.outcome.refusal : undefined
  const bought = cause === undefined ? order : null
  const isOpen = of.outcome === undefined && order === null
  return (
    <div className="viewed">
      <Notice tone={bought ? 'good' : 'warn'}>
        <Text fw={600}>{t.names[of.operation]}</Text>
        <Text size="sm">
          {bought && t.bought(format.money(bought.price_rub))}
          {cause !== undefined && t.refused(cause)}
          {isOpen && t.unknown(format.away(new Date(of.startedAt).toISOString(), nowAt))}
          {!bought && cause === undefined && !isOpen && t.asking}
        </Text>
        <RefusalNotice error={again.error} />
        <div className="line notice-actions">
          {bought && (
            <Button component="a" size="xs" href={pages[of.operation]} onClick={close}>
              {t.show}
            </Button>
          )}
          {isOpen && (
            <Button size="xs" loading={again.isPending} onClick={() => again.mutate()}>
              {t.askAgain}
            </Button>
          )}
          <Button size="xs" variant="default" onClick={close}>
            {isOpen ? t.hide : t.close}
          </Button>
        </div>
      </Notice>
    </div>
  )
}
