import { useDebouncedValue } from '@mantine/hooks'
import { go } from '../shared/browser.ts'
import type { PaletteOf } from '../shared/frame.tsx'
import type { IconName } from '../shared/icons.tsx'
import { useMessages } from '../shared/messages.tsx'
import { isMatch, Palette, type PaletteEntry } from '../shared/palette.tsx'
import { useCommonEntries } from '../shared/palette-entries.ts'
import { methodNames, orderName, type Trade, tradeMessages } from '../shared/trade.ts'
import { useRead } from './api.ts'
import { type Match, pathOf, searchMessages } from './search.tsx'

const icons: Readonly<Record<Match['kind'], IconName>> = {
  customer: 'person',
  proxy: 'server',
  subuser: 'globe',
  vpn: 'shield',
  device: 'shield',
  order: 'receipt',
  payment: 'wallet',
}

function nameOf({ kind, id, title, detail }: Match, trade: Trade, methods: Readonly<Record<string, string>>): string {
  if (kind === 'order') return orderName({ product: title, action: detail ?? '' }, trade)
  if (kind === 'payment') return `${methods[detail ?? ''] ?? detail ?? ''} …${id.slice(-8)}`
  return kind === 'vpn' ? id : title
}

/** The pages of the operator's role, its actions, and what the shop's search finds. */
const OperatorPalette: PaletteOf = ({ items, onClose }) => {
  const { t } = useMessages(searchMessages)
  const { t: trade } = useMessages(tradeMessages)
  const { t: methods } = useMessages(methodNames)
  const common = useCommonEntries(items)
  const useEntries = (typed: string): readonly PaletteEntry[] => {
    const [q] = useDebouncedValue(typed, 200)
    const found = useRead('search', { query: { q } }, { isWanted: q !== '' }).data?.items ?? []
    if (typed === '') return common.slice(0, items.length)
    const things = found.map(
      (each): PaletteEntry => ({
        id: `${each.kind} ${each.id}`,
        icon: icons[each.kind],
        label: nameOf(each, trade, methods),
        note: [t.foundKinds[each.kind], each.kind === 'customer' ? '' : each.customer_name].filter(Boolean).join(', '),
        run: () => void go(pathOf[each.kind](each)),
      }),
    )
    return [...common.filter((each) => isMatch(each, typed)), ...(q === '' ? [] : things)]
  }
  return <Palette useEntries={useEntries} onClose={onClose} />
}

export default OperatorPalette
