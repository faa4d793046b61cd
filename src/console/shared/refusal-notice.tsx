import { Button, Text } from '@mantine/core'
import { CallLost, CallRefused } from '../client/call.ts'
import { useFormat } from './format.ts'
import { useLanguage, useWords } from './language.tsx'
import { sayRefusal } from './refusals/say.ts'
import { sharedWords } from './words.ts'

type Shared = (typeof sharedWords)['en']

type Told = {
  readonly title: string
  readonly text: string
  readonly money?: string | undefined
  readonly request?: string | null
}

/** Whether money moved, where that is a question. The shop's own text may have said so. */
function tellMoney({ charged }: CallRefused, text: string, words: Shared): string | undefined {
  if (charged === undefined || /nothing was charged|ничего не списано/i.test(text)) return undefined
  return { yes: words.charged, no: words.notCharged, unknown: words.lostAbout }[charged]
}

function useTold(error: unknown): Told {
  const words = useWords(sharedWords)
  const { language } = useLanguage()
  const format = useFormat()
  if (error instanceof CallLost) return { title: words.lost, text: words.lostAbout }
  if (!(error instanceof CallRefused)) return { title: words.failed, text: words.failedAbout }
  const text = sayRefusal(error, language, format)
  return {
    title: error.status >= 500 ? words.fault : words.refused,
    text,
    money: tellMoney(error, text, words),
    ...(error.code === 'internal_error' && { request: error.requestId }),
  }
}

/** What went wrong, and whether money moved. */
export function RefusalNotice({ error, onAgain }: { readonly error: unknown; readonly onAgain?: () => void }) {
  const words = useWords(sharedWords)
  const { title, text, money, request } = useTold(error)
  if (error === null || error === undefined) return null
  return (
    <div role="alert" className="notice">
      <Text fw={600}>{title}</Text>
      <Text size="sm">
        {text} {money !== undefined && <strong>{money}</strong>}
      </Text>
      {request !== undefined && request !== null && (
        <Text size="sm" c="dimmed">
          {words.request} <code>{request}</code>
        </Text>
      )}
      {onAgain && (
        <Button variant="default" size="xs" mt="xs" onClick={onAgain}>
          {words.again}
        </Button>
      )}
    </div>
  )
}
