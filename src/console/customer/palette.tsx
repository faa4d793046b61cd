import { go } from '../shared/browser.ts'
import type { PaletteOf } from '../shared/frame.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { isMatch, Palette, type PaletteEntry } from '../shared/palette.tsx'
import { useCommonEntries } from '../shared/palette-entries.ts'
import { orderName, tradeMessages } from '../shared/trade.ts'
import { useRead } from './api.ts'
import { nameOf } from './dedicated/endpoint.ts'
import { useProxies } from './dedicated/use-proxies.ts'

const paletteMessages = messages({
  proxy: pair('Proxy', 'Прокси'),
  buyProxies: pair('Buy dedicated proxies', 'Купить выделенные прокси'),
  makeList: pair('Generate a proxy list', 'Составить список прокси'),
  action: pair('Action', 'Действие'),
})

const maxProxies = 6

/** A customer's pages, actions, proxies and newest orders. It has nothing of operators. */
const CustomerPalette: PaletteOf = ({ items, onClose }) => {
  const { t, format } = useMessages(paletteMessages)
  const { t: trade } = useMessages(tradeMessages)
  const common = useCommonEntries(items)
  const proxies = useProxies().data ?? []
  const orders = useRead('listOrders', { query: { limit: 100 } }).data?.orders ?? []
  const useEntries = (typed: string): readonly PaletteEntry[] => {
    const act = (path: string, label: string): PaletteEntry => ({
      id: `act ${path}`,
      icon: 'plus',
      label,
      note: t.action,
      run: () => void go(path),
    })
    const own = [act('/dedicated/buy', t.buyProxies), act('/money', t.topUp), act('/premium/generate', t.makeList)]
    if (typed === '') return [...common.slice(0, items.length), ...own]
    const foundProxies = proxies.map(
      (each): PaletteEntry => ({
        id: `proxy ${each.id}`,
        icon: 'server',
        label: nameOf(each),
        note: `${t.proxy} ${each.id}, ${each.country_code}`,
        words: `${each.exit_ip} ${each.username} ${each.comment} ${format.country(each.country_code)}`,
        run: () => void go(`/dedicated/${each.id}`),
      }),
    )
    const foundOrders = orders.map(
      (each): PaletteEntry => ({
        id: each.order_id,
        icon: 'receipt',
        label: orderName(each, trade),
        note: `${t.order} …${each.order_id.slice(-8)}, ${format.day(each.created_at)}`,
        words: each.order_id,
        run: () => void go(`/orders/${each.order_id}`),
      }),
    )
    const matching = (of: readonly PaletteEntry[]) => of.filter((each) => isMatch(each, typed))
    return [...matching([...common, ...own]), ...matching(foundProxies).slice(0, maxProxies), ...matching(foundOrders)]
  }
  return <Palette useEntries={useEntries} onClose={onClose} />
}

export default CustomerPalette
