import { testSeeds } from './short-seeds.ts'

testSeeds(1, 50)
