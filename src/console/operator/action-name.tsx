import { useEffect, useState } from 'react'
import { useLanguage } from '../shared/messages.tsx'

type Names = typeof import('./actions-ru.ts')

let loaded: Names | undefined

/** What an operator did. The names of all actions are no part of the first load: few entries of the feed need them. */
export function ActionName({ of }: { readonly of: string }) {
  const { language } = useLanguage()
  const [names, setNames] = useState(loaded)
  useEffect(() => {
    const load = async () => {
      loaded ??= await import('./actions-ru.ts')
      setNames(loaded)
    }
    // Without a connection the entry has the action's name in the API.
    load().catch(() => undefined)
  }, [])
  return (language === 'ru' ? names?.actions : names?.actionNames)?.[of] ?? of
}
