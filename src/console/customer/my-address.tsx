import { Button } from '@mantine/core'
import { useWho } from '../client/session.ts'
import { useSessions } from '../shared/account/page.tsx'
import { useWords, type Words } from '../shared/language.tsx'

const words: Words<string> = { en: 'Add my address', ru: 'Добавить мой адрес' }

/** Where this browser comes from, as the shop sees it; unknown to whoever came with a token. */
function useMyAddress(): string | undefined {
  const who = useWho()
  const sessions = useSessions(who !== undefined && who.viewed_by === null).data?.sessions
  return sessions?.find((each) => each.current)?.source ?? undefined
}

/** A button that allows the address of this browser, unless it is allowed already. */
export function AddMyAddress({
  allowed,
  onAdd,
}: {
  readonly allowed: readonly string[]
  readonly onAdd: (ip: string) => void
}) {
  const label = useWords(words)
  const ip = useMyAddress()
  if (ip === undefined || allowed.includes(ip)) return null
  return (
    <Button variant="default" onClick={() => onAdd(ip)}>
      {label} ({ip})
    </Button>
  )
}
