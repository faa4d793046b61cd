import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useState } from 'react'
import { createFormat, type Format, type Language } from './format.ts'
import type { Messages } from './messages.ts'

const storageKey = 'turnpike.language'

/** The chosen language, or the first of the browser's that is known. */
function firstLanguage(): Language {
  const chosen = localStorage.getItem(storageKey)
  if (chosen === 'en' || chosen === 'ru') return chosen
  const known = navigator.languages.map((each) => each.slice(0, 2)).find((each) => each === 'en' || each === 'ru')
  return known === 'ru' ? 'ru' : 'en'
}

type Spoken = { readonly language: Language; readonly format: Format; readonly choose: (language: Language) => void }

const Context = createContext<Spoken>({ language: 'en', format: createFormat('en'), choose: () => {} })

export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage)
  useLayoutEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const spoken = useMemo(() => {
    const choose = (next: Language) => {
      localStorage.setItem(storageKey, next)
      setLanguage(next)
    }
    return { language, format: createFormat(language), choose }
  }, [language])
  return <Context value={spoken}>{children}</Context>
}

export const useLanguage = (): Spoken => useContext(Context)

/** A page's texts in the reader's language, and how that language writes numbers, money and times. */
export function useMessages<Of>(messages: Messages<Of>): Spoken & { readonly t: Of } {
  const spoken = useLanguage()
  return { ...spoken, t: messages[spoken.language] }
}
