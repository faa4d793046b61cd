import { ActionIcon, Button, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { Icon } from './icons.tsx'
import { messages, pair, useMessages } from './messages.tsx'
import { RefusalNotice } from './parts.tsx'
import { refresh } from './queries.ts'

const undoMessages = messages({
  undo: pair('Undo', 'Отменить'),
  undone: pair('Undone: everything is as before.', 'Отменено: всё как раньше.'),
})

/** A change that was made, and what brings the values from before it back. */
type Undoable = { readonly text: string; readonly undo: () => Promise<unknown> }

let offered: Undoable | undefined
const listeners = new Set<() => void>()

const set = (next: Undoable | undefined): void => {
  offered = next
  for (const each of listeners) each()
}

const listen = (onChange: () => void): (() => void) => {
  listeners.add(onChange)
  return () => void listeners.delete(onChange)
}

/** Offers to undo the change that was just made, in place of an earlier offer. */
export const offerUndo = (of: Undoable): void => set(of)

/** The last change and its button, until it is used, closed or followed by another change. */
export function UndoBar() {
  const of = useSyncExternalStore(listen, () => offered)
  return of === undefined ? null : <Offer key={of.text} of={of} />
}

function Offer({ of }: { readonly of: Undoable }) {
  const { t } = useMessages(undoMessages)
  const queries = useQueryClient()
  const undoing = useMutation({ mutationFn: of.undo, onSettled: () => refresh(queries) })
  return (
    <div className="undo" role="status">
      <div className="line ends">
        <Text>{undoing.isSuccess ? t.undone : of.text}</Text>
        <span className="line tight">
          {!undoing.isSuccess && (
            <Button size="xs" variant="light" loading={undoing.isPending} onClick={() => undoing.mutate()}>
              {t.undo}
            </Button>
          )}
          <ActionIcon variant="subtle" color="gray" aria-label={t.close} onClick={() => set(undefined)}>
            <Icon name="close" size={15} />
          </ActionIcon>
        </span>
      </div>
      <RefusalNotice error={undoing.error} />
    </div>
  )
}
