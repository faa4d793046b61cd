import { Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { takeLink } from '../../client/link.ts'
import { part } from '../../client/session.ts'
import { LanguageSwitch, ThemeSwitch } from '../frame.tsx'
import { Mark } from '../icons.tsx'
import { useWords } from '../language.tsx'
import { ForgottenForm, PasswordForm, TokenForm } from './forms.tsx'
import { ByLink } from './links.tsx'
import { useOffers } from './offers.ts'
import { broughtBy, RegisterForm } from './register.tsx'
import { signInWords } from './words.ts'

/** What a stranger may do here. */
export type Way = 'password' | 'token' | 'register' | 'forgotten' | 'link'

export function SignIn() {
  const words = useWords(signInWords)
  const [link] = useState(takeLink)
  const [hasFailed, setFailed] = useState(false)
  const [chosen, setWay] = useState<Way | undefined>(link ? 'link' : undefined)
  const offers = useOffers()
  const way = chosen ?? (broughtBy !== '' && offers?.registration ? 'register' : 'password')
  const ofLinks = { enter: words.entering, confirm: words.confirmTitle, reset: words.newPassword }
  const titles: Readonly<Record<Way, string>> = {
    password: part === 'operator' ? words.operatorTitle : words.title,
    token: part === 'operator' ? words.operatorTitle : words.title,
    register: words.register,
    forgotten: words.forgotten,
    link: hasFailed ? words.linkFailed : ofLinks[link?.kind ?? 'enter'],
  }
  const forms: Readonly<Record<Way, () => ReactNode>> = {
    password: () => <PasswordForm onWay={setWay} />,
    token: () => <TokenForm onWay={setWay} />,
    register: () => <RegisterForm onWay={setWay} />,
    forgotten: () => <ForgottenForm onWay={setWay} />,
    link: () => link && <ByLink link={link} onWay={setWay} onFailed={() => setFailed(true)} />,
  }
  return <Door title={titles[way]}>{forms[way]()}</Door>
}

function Door({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const words = useWords(signInWords)
  useEffect(() => {
    document.title = `${title} · Turnpike`
  }, [title])
  return (
    <div className="door">
      <header className="door-head">
        <span className="brand">
          <Mark /> Turnpike
        </span>
        <div className="switches">
          <LanguageSwitch />
          <ThemeSwitch />
        </div>
      </header>
      <main className="door-card">
        <Title order={1}>{title}</Title>
        {children}
      </main>
      <footer>
        <Text size="sm">
          <a href="/docs">{words.docs}</a>
        </Text>
      </footer>
    </div>
  )
}
