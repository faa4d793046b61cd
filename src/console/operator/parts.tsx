import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ActField } from '../shared/act.tsx'
import { Listing } from '../shared/copy.tsx'
import type { DrawingName } from '../shared/drawings.tsx'
import { names, pair, translated, useMessages } from '../shared/messages.tsx'
import { Empty } from '../shared/parts.tsx'
import { operatorMessages } from './messages.ts'

/** The field of a note, labelled with its readers: the API says of each operation whether the customer sees it. */
export function useNote(readers: 'customer' | 'operators'): ActField {
  const { t } = useMessages(operatorMessages)
  return { name: 'note', label: readers === 'customer' ? t.shownNote : t.ownNote, isOptional: true }
}

type NothingProps = Readonly<{ icon: DrawingName; isFiltered?: boolean; about?: string; children?: ReactNode }>

/** Shown in place of a list without items: of all of them, with a button, or of those that match filters. */
export function Nothing({ icon, isFiltered = false, about = '', children }: NothingProps) {
  const { t } = useMessages(operatorMessages)
  return (
    <Empty icon={icon} title={isFiltered ? t.none : t.nothingYet} about={isFiltered ? t.noneAbout : about}>
      {!isFiltered && children}
    </Empty>
  )
}

/** A customer by name; an erased customer has none and is shown by id. */
export const CustomerLink = ({ id, name }: { readonly id: string; readonly name: string }) => (
  <a href={`#/customers/${id}`}>{name === '' ? id : name}</a>
)

export const paymentStates = translated(
  names({
    new: pair('Created', 'Создан'),
    pending: pair('Awaiting payment', 'Ожидает оплаты'),
    paid: pair('Paid', 'Оплачен'),
    expired: pair('Expired', 'Истёк'),
    cancelled: pair('Cancelled', 'Отменён'),
    refunded: pair('Refunded', 'Возвращён'),
  }),
)

export const Mono = ({ children }: { readonly children: string | null }) => <span className="mono">{children}</span>

/** A secret that the shop shows only now. */
export function OnceShown({ text, about }: { readonly text: string; readonly about?: string }) {
  const { t } = useMessages(operatorMessages)
  return (
    <>
      <Text>{about ?? t.linkMade}</Text>
      <Listing text={text} label={t.link} />
    </>
  )
}
