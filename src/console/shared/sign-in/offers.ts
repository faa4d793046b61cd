import { useQuery } from '@tanstack/react-query'
import { auth, own } from '../../client/session.ts'

/** What the shop offers to somebody who has not signed in; undefined until it has said so. */
export const useOffers = () => useQuery({ queryKey: ['offers'], queryFn: () => auth.call(own('getOffersFor')) }).data
