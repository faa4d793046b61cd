import { Button, TextInput } from '@mantine/core'
import { useWho } from '../client/session.ts'
import { useSessions } from '../shared/account/page.tsx'
import { Form, useTyped } from '../shared/form.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'

const addressMessages = messages({
  add: pair('Add', 'Добавить'),
  mine: pair('Add my address', 'Добавить мой адрес'),
})

/** The address of this browser as the shop sees it; undefined for a session by token. */
function useMyAddress(): string | undefined {
  const who = useWho()
  const sessions = useSessions(who !== undefined && who.viewed_by === null).data?.sessions
  return sessions?.find((each) => each.current)?.source ?? undefined
}

type AddAddressProps = {
  readonly label: string
  readonly allowed: readonly string[]
  readonly isPending: boolean
  readonly onAdd: (ip: string, onDone: () => void) => void
}

/** Adds a typed address, or this browser's own if it is not allowed yet. */
export function AddAddress({ label, allowed, isPending, onAdd }: AddAddressProps) {
  const { t } = useMessages(addressMessages)
  const typed = useTyped()
  const mine = useMyAddress()
  return (
    <Form className="line fields" onSubmit={() => onAdd(typed.text, () => typed.set(''))}>
      <TextInput label={label} {...typed.props} />
      <Button type="submit" variant="default" loading={isPending} disabled={typed.text === ''}>
        {t.add}
      </Button>
      {mine !== undefined && !allowed.includes(mine) && (
        <Button variant="default" onClick={() => onAdd(mine, () => {})}>
          {t.mine} ({mine})
        </Button>
      )}
    </Form>
  )
}
