import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useState } from 'react'

export type Language = 'en' | 'ru'

const remembered = 'turnpike.language'

/** The browser decides, until somebody has chosen. */
function firstLanguage(): Language {
  const chosen = localStorage.getItem(remembered)
  if (chosen === 'en' || chosen === 'ru') return chosen
  const known = navigator.languages.map((each) => each.slice(0, 2)).find((each) => each === 'en' || each === 'ru')
  return known === 'ru' ? 'ru' : 'en'
}

type Spoken = { readonly language: Language; readonly choose: (language: Language) => void }

const Context = createContext<Spoken>({ language: 'en', choose: () => {} })

export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage)
  useLayoutEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const spoken = useMemo(
    () => ({
      language,
      choose: (next: Language) => {
        localStorage.setItem(remembered, next)
        setLanguage(next)
      },
    }),
    [language],
  )
  return <Context value={spoken}>{children}</Context>
}

export const useLanguage = (): Spoken => useContext(Context)

/** The same words in both languages: what one says, the other says too. */
export type Words<Of> = Readonly<Record<Language, Of>>

export const useWords = <Of,>(words: Words<Of>): Of => words[useLanguage().language]
